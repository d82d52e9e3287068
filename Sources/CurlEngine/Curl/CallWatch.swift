import CCurl
import Synchronization

/// What the ``Watchdog`` needs to know of one engine: whether it is inside libcurl, and which sockets libcurl has open there.
///
/// A server can keep one call busy for as long as it likes: before 8.1 libcurl reads on while HTTP/2 frames come in that bring
/// nothing. Meanwhile every other request of the engine stands still, its deadline included. The measure is the processor
/// time of the engine's thread: that of a process that was stopped or starved does not pass.
final class CallWatch: Sendable {
    /// What the watchdog has seen of a call.
    private struct Observation {
        let call: UInt64
        /// The thread's processor time when it was seen first, or when a socket was shut down.
        var start: UInt64
        /// The bytes that had been read from each socket when half the time was over.
        var read: [Int32: Int64]?
    }

    /// A connection that was shut down.
    struct Cut: Hashable {
        let socket: Int32
        /// This side's port, 0 where it has none.
        let port: Int32
    }

    private struct State {
        var sockets: Set<Int32> = []
        var observation: Observation?
        var lastSeen: UInt64 = 0
    }

    /// How long a call may work, in nanoseconds.
    private static let limit: UInt64 = 1_000_000_000
    /// What must have been read from a socket in half of that for its server to be the one, in bytes. What comes in on a
    /// socket from which nobody reads is no flood.
    private static let flood: Int64 = 64 << 10

    /// A number for each call into libcurl and for each time between two: odd numbers are calls. Written by the engine alone.
    private let call = Atomic<UInt64>(0)
    private let cutSocket = Atomic<Int32>(-1)
    private let cutPort = Atomic<Int32>(0)
    private let state = Locked(State())
    private let dog: Watchdog
    /// The processor time of the engine's thread, in nanoseconds.
    private let time: @Sendable () -> UInt64

    /// For the engine whose thread this is.
    convenience init() {
        let clock = ccurl_thread_cpu_clock()
        self.init(dog: .shared) { ccurl_clock_ns(clock) }
    }

    init(dog: Watchdog, time: @escaping @Sendable () -> UInt64) {
        self.dog = dog
        self.time = time
    }

    // MARK: The engine

    /// A call into libcurl begins.
    func begin() {
        call.store(call.load(ordering: .relaxed) &+ 1, ordering: .sequentiallyConsistent)
        dog.wake()
    }

    /// It has returned. The connection that was shut down meanwhile, if there is one.
    func end() -> Cut? {
        call.store(call.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        guard cutSocket.load(ordering: .acquiring) >= 0 else { return nil }
        let socket = cutSocket.exchange(-1, ordering: .acquiringAndReleasing)
        return Cut(socket: socket, port: cutPort.load(ordering: .relaxed))
    }

    func didOpen(_ socket: Int32) { state.withLock { _ = $0.sockets.insert(socket) } }

    /// To be called before a socket is closed: afterwards its number may be that of another.
    func willClose(_ socket: Int32) { state.withLock { _ = $0.sockets.remove(socket) } }

    // MARK: The watchdog

    /// Whether the engine has called libcurl since the last look, or is inside it.
    var hasMoved: Bool {
        let now = call.load(ordering: .sequentiallyConsistent)
        return now & 1 == 1 || state.withLock { $0.lastSeen != now }
    }

    /// Looks at the present call, and shuts down the socket that keeps it busy. Returns ``hasMoved``.
    func look() -> Bool {
        let now = call.load(ordering: .sequentiallyConsistent)
        return state.withLock { state in
            defer { state.lastSeen = now }
            guard now & 1 == 1 else {
                state.observation = nil
                return state.lastSeen != now
            }
            guard let observation = state.observation, observation.call == now else {
                state.observation = Observation(call: now, start: time())
                return true
            }
            let time = time()
            let used = time > observation.start ? time - observation.start : 0
            if used > Self.limit / 2, observation.read == nil {
                state.observation?.read = Self.read(state.sockets, isStart: true)
            } else if used > Self.limit, let read = observation.read {
                cut(Self.busiest(of: state.sockets, since: read), call: now)
                state.observation = Observation(call: now, start: time)
            }
            return true
        }
    }

    /// While this holds the lock, no socket is closed.
    private func cut(_ socket: Int32?, call number: UInt64) {
        guard let socket, call.load(ordering: .acquiring) == number else { return }
        cutPort.store(ccurl_socket_port(socket), ordering: .relaxed)
        cutSocket.store(socket, ordering: .releasing)
        ccurl_socket_shut_down(socket)
    }

    private static func read(_ sockets: Set<Int32>, isStart: Bool) -> [Int32: Int64] {
        Dictionary(uniqueKeysWithValues: sockets.map { ($0, ccurl_socket_read($0, isStart)) })
    }

    /// The socket from which the most was read. Where the system does not say, as of sockets in the file system, the only one there is.
    private static func busiest(of sockets: Set<Int32>, since before: [Int32: Int64]) -> Int32? {
        let counts = read(sockets, isStart: false)
        if sockets.count == 1, let socket = sockets.first, counts[socket] == -1 { return socket }
        let growth = counts.map { socket, count in (socket, count - (before[socket] ?? count)) }
        return growth.max { $0.1 < $1.1 }.flatMap { $0.1 >= flood ? $0.0 : nil }
    }
}
