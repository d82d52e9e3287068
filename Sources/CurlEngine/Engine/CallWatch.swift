import CCurl
import Synchronization

/// The state of one engine for the ``Watchdog``: whether the engine is inside libcurl or OpenSSL, and which sockets they use.
///
/// A peer can keep one call busy as long as it sends, for example a proxy whose response to a request for a tunnel does not end. During
/// that time, all other requests of the engine stand still, including their deadlines. The limit is processor time of the engine's thread,
/// because that time does not pass while a process is stopped or starved.
final class CallWatch: Sendable {
    /// The state of a call as observed by the watchdog.
    private struct Observation {
        /// The number of the call.
        let call: UInt64
        /// The thread's processor time in nanoseconds when the watchdog first saw the call, or last shut down a socket.
        var start: UInt64
        /// The bytes that had been read from each socket when half of the limit was used; `nil` before that.
        var read: [Int32: Int64]?
    }

    private struct State {
        /// The sockets of connections with TLS, and of handshakes.
        var sockets: Set<Int32> = []
        var observation: Observation?
        /// The value of `call` at the watchdog's last check.
        var lastSeen: UInt64 = 0
    }

    /// The processor time that a call may use, in nanoseconds.
    private static let limit: UInt64 = 1_000_000_000
    /// The bytes that must be read from a socket within half of the limit before its server is considered the cause. Data on a socket from
    /// which the engine does not read is not a flood.
    private static let flood: Int64 = 64 << 10

    /// The number of the current call into libcurl or OpenSSL, or of the time between two calls. Odd numbers are calls. Only the engine
    /// writes this number.
    private let call = Atomic<UInt64>(0)
    /// The socket that was shut down during the current call; -1 if there is none.
    private let cutSocket = Atomic<Int32>(-1)
    private let state = Locked(State())
    /// The watchdog that checks the engine.
    private let dog: Watchdog
    /// The processor time of the engine's thread, in nanoseconds.
    private let time: @Sendable () -> UInt64

    /// Creates the watch for the engine whose thread calls this initializer.
    convenience init() {
        let clock = ccurl_thread_cpu_clock()
        self.init(dog: .shared) { ccurl_clock_ns(clock) }
    }

    init(dog: Watchdog, time: @escaping @Sendable () -> UInt64) {
        self.dog = dog
        self.time = time
    }

    // MARK: Calls from the engine

    /// Records that a call into libcurl or OpenSSL begins.
    func begin() {
        call.store(call.load(ordering: .relaxed) &+ 1, ordering: .sequentiallyConsistent)
        if dog.processExits { rest() }
        dog.wake()
    }

    /// Does not return: the process exits, and this thread ends with it.
    private func rest() -> Never {
        _ = end()
        while true { ccurl_thread_sleep_ms(.max) }
    }

    /// Records that the call has returned. Returns the socket that was shut down during the call, if there is one.
    func end() -> Int32? {
        call.store(call.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        guard cutSocket.load(ordering: .acquiring) >= 0 else { return nil }
        return cutSocket.exchange(-1, ordering: .acquiringAndReleasing)
    }

    /// Adds the socket of a connection on which handshakes begin.
    func didOpen(_ socket: Int32) { state.withLock { _ = $0.sockets.insert(socket) } }

    /// Removes a socket. Must be called before the socket is closed: afterwards its number may belong to another socket.
    func willClose(_ socket: Int32) { state.withLock { _ = $0.sockets.remove(socket) } }

    // MARK: Calls from the watchdog

    /// Whether the engine is inside libcurl or OpenSSL.
    var isInside: Bool { call.load(ordering: .sequentiallyConsistent) & 1 == 1 }

    /// Whether a call has begun or ended since the last check, or is under way.
    var hasMoved: Bool {
        let now = call.load(ordering: .sequentiallyConsistent)
        return now & 1 == 1 || state.withLock { $0.lastSeen != now }
    }

    /// Checks the current call, and shuts down the socket that keeps the call busy. Returns ``hasMoved``.
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

    /// Shuts down a socket. The caller holds the lock, so that no socket is closed during this call.
    private func cut(_ socket: Int32?, call number: UInt64) {
        guard let socket, call.load(ordering: .acquiring) == number else { return }
        cutSocket.store(socket, ordering: .releasing)
        ccurl_socket_shut_down(socket)
    }

    private static func read(_ sockets: Set<Int32>, isStart: Bool) -> [Int32: Int64] {
        Dictionary(uniqueKeysWithValues: sockets.map { ($0, ccurl_socket_read($0, isStart)) })
    }

    /// Returns the socket from which the most was read, if that is a flood. If the system does not report the bytes, as for sockets in the
    /// file system, the result is the only open socket.
    private static func busiest(of sockets: Set<Int32>, since before: [Int32: Int64]) -> Int32? {
        let counts = read(sockets, isStart: false)
        if sockets.count == 1, let socket = sockets.first, counts[socket] == -1 { return socket }
        let growth = counts.map { socket, count in (socket, count - (before[socket] ?? count)) }
        return growth.max { $0.1 < $1.1 }.flatMap { $0.1 >= flood ? $0.0 : nil }
    }
}
