import CCurl
import FoundationEssentials
private import Glibc
private import Synchronization

/// The wait of a reader on the socket in its own thread (``DirectReading``).
extension SwitchedConnection {
    /// The most bytes that a reader receives itself. More of them are received by the engine thread, in larger pieces.
    private static let largestRead = 8 << 10
    /// The time in which the reader must read, or the engine thread watches the socket again: until then, bytes and their end are not
    /// noticed unless the reader waits.
    private static let supervisionInterval = Duration.milliseconds(2)

    /// The number of readers of the process that wait on a socket.
    private static let waitingCount = Atomic(0)
    /// The largest number of them: half of the cores, so that at least half of the pool's threads are never blocked; but one if there is a
    /// single core, whose only thread is blocked for the time of a short wait.
    private static let maximumWaitingCount = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2)

    /// Allows the reader to wait on the socket itself, because libcurl has no part in the connection any more.
    func allowDirectReading() {
        // Without the system's clock, the engine thread would not notice that the reader has stopped reading.
        guard engineExecutor.engineLoop.usesSystemClock else { return }
        state.withLock { $0.direct.isPossible = true }
    }

    /// Returns the next bytes of the socket, if the reader waits there itself and they come soon; otherwise `nil`, and the engine thread
    /// watches the socket.
    func readDirectly() -> Data? {
        guard let (socket, limit, beginning) = beginDirectRead() else { return nil }
        if let beginning { engineExecutor.submit { [self] in supervise(beginning, lastCount: .max) } }
        guard Self.waitingCount.add(1, ordering: .relaxed).newValue <= Self.maximumWaitingCount else {
            Self.waitingCount.subtract(1, ordering: .relaxed)
            endDirectReading(hasFailed: true)
            return nil
        }
        let isReady = Self.wait(for: socket, nanoseconds: limit)
        Self.waitingCount.subtract(1, ordering: .relaxed)
        guard isReady, let bytes = receiveDirectly(socket) else {
            endDirectReading(hasFailed: true)
            return nil
        }
        if bytes.count == Self.largestRead {
            endDirectReading(hasFailed: true)
        } else if state.withLock({ $0.direct.isRunOver }) {
            endDirectReading(hasFailed: false)
        }
        return bytes
    }

    /// Begins a read on the socket. Returns the socket, the limit on the wait in nanoseconds, and the number of the beginning if this is
    /// the first read of several; `nil` if the reader waits for the engine thread.
    private func beginDirectRead() -> (socket: Int32, limit: Int64, beginning: UInt64?)? {
        // No engine's thread must be blocked, another one's neither. The own one watches the socket again.
        guard !CallingThread.isEngine else {
            endDirectReading(hasFailed: false)
            return nil
        }
        return state.withLock { state in
            let wasOn = state.direct.isOn
            guard state.mayReadDirectly, state.direct.beginWait() else { return nil }
            return (state.plainSocket, state.direct.limits.wait, wasOn ? nil : state.direct.beginCount)
        }
    }

    /// Waits until a socket has bytes. Returns `false` if it has none in time, or has an end or an error: those are the engine's.
    ///
    /// The socket may be closed meanwhile, and another one opened with its number. Therefore nothing follows from the result but an attempt
    /// to receive, if the connection has the socket then.
    private static func wait(for socket: Int32, nanoseconds: Int64) -> Bool {
        ccurl_socket_wait(socket, nanoseconds)
    }

    private func receiveDirectly(_ socket: Int32) -> Data? {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.largestRead, alignment: 16) { buffer in
            let count = state.withLock { state in
                // The socket is open, because ``forgetSocket()`` takes the same lock before the socket is closed.
                guard state.direct.isOn, state.mayReadDirectly, state.plainSocket == socket else { return 0 }
                let count = unsafe recv(socket, buffer.baseAddress, buffer.count, ConnectionChannel.flags)
                guard count > 0 else { return 0 }
                state.moved.received += Int64(count)
                state.mayAnswer = true
                state.direct.didRead()
                return count
            }
            guard count > 0, let start = buffer.baseAddress else { return nil }
            return unsafe Data(bytes: start, count: count)
        }
    }

    private func endDirectReading(hasFailed: Bool) {
        if state.withLock({ $0.direct.end(hasFailed: hasFailed) }) { wakeEngine() }
    }

    /// Lets the engine thread watch the socket again when the reader does not read any more. Runs on the engine thread, every
    /// two milliseconds while the reader reads on the socket.
    private func supervise(_ beginning: UInt64, lastCount: UInt64) {
        let count = state.withLock { state -> UInt64? in
            guard state.direct.isOn, state.direct.beginCount == beginning else { return nil }
            guard state.direct.readCount == lastCount, !state.direct.isReaderWaiting else {
                return state.direct.readCount
            }
            _ = state.direct.end(hasFailed: false)
            return nil
        }
        guard let count else { return transfer.engine.advanceConnectOnly(transfer) }
        let next = engineExecutor.now.advanced(by: Self.supervisionInterval)
        _ = EngineAlarm(on: engineExecutor, at: next) { [self] in supervise(beginning, lastCount: count) }
    }
}
