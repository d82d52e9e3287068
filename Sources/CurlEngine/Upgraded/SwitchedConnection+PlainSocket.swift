import CCurl
package import FoundationEssentials
private import Glibc
private import Synchronization

/// The calls of readers and writers on the socket of a connection without TLS, each in the thread of its caller. An answer does not wake
/// the engine thread for its writer. While messages go to and fro, it does not wake it for its reader either (``DirectReading``).
extension SwitchedConnection {
    // MARK: Writing

    /// The largest number of bytes that a writer sends itself, because the engine thread may wait for the lock meanwhile.
    package static let largestAnswer = 4 << 10

    /// Sends few bytes on the socket, if none wait before them, as far as the socket takes them at once. Returns the number of bytes that
    /// were sent.
    ///
    /// That is one write for each time that bytes were received. Several writes in a row are collected by the engine thread. It also
    /// finds the failure of a socket that takes nothing. The socket is open, because ``forgetSocket()`` takes the same lock before the
    /// socket is closed.
    func sendAtOnce(_ bytes: RawSpan, _ state: inout State) -> Int {
        let socket = state.plainSocket
        // The engine thread collects the bytes of one turn.
        guard socket >= 0, state.mayAnswer, !bytes.isEmpty, bytes.byteCount <= Self.largestAnswer, !state.isSending,
            state.outgoing.count == 0, !engineExecutor.isCurrent
        else { return 0 }
        state.mayAnswer = false
        let sent = unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, WireLink.flags)
        }
        guard sent > 0 else { return 0 }
        state.moved.sent += Int64(sent)
        return sent
    }

    /// Forgets the socket, which is about to be closed.
    func forgetSocket() { state.withLock { $0.plainSocket = -1 } }

    // MARK: Reading

    /// The most bytes that a reader receives itself.
    private static let largestRead = Int(CCURL_LARGEST_RECEIVE)
    /// The time in which the reader must read, or the engine thread watches the socket again: until then, bytes and their end are not
    /// noticed unless the reader waits.
    private static let supervisionInterval = Duration.milliseconds(2)

    /// The number of readers of the process that wait on a socket.
    private static let waitingCount = Atomic(0)
    /// The largest number of them: half of the cores, so that at least half of the pool's threads are never blocked. With a single core, it
    /// is one, and the only thread is blocked for the time of a short wait.
    private static let maximumWaitingCount = max(1, DirectReading.coreCount / 2)

    /// Allows the reader to wait on the socket itself, because the connection has no TLS.
    func allowDirectReading() {
        // Without the system's clock, the engine thread would not notice that the reader has stopped reading.
        guard engineExecutor.engineLoop.usesSystemClock else { return }
        state.withLock { $0.direct.isPossible = true }
    }

    /// The beginning of a read.
    private enum ReadStart {
        /// The result is known.
        case known(Next)
        /// The reader waits on the socket, for the limits in nanoseconds. The first read of several has the number of the beginning.
        case direct(socket: Int32, limits: (awake: Int64, asleep: Int64), beginning: UInt64?)
    }

    /// Returns the next bytes of the peer if there are some, or if the reader waits on the socket itself and they come soon. Otherwise, and
    /// at the end of the peer's bytes, returns `nil`, and the engine thread watches the socket.
    ///
    /// - Throws: The errors of ``read()``.
    package func readSoon() throws -> Data? {
        try Task.checkCancellation()
        let (start, mustWatch) = startReading()
        if mustWatch { wakeEngine() }
        switch start {
        case .known(.bytes(let bytes, let mustRead)):
            if mustRead { wakeEngine() }
            return bytes
        case .known(.failure(let error)): throw error
        case .known(.end), .known(.wait): return nil
        case .direct(let socket, let limits, let beginning):
            if let beginning { engineExecutor.submit { [self] in supervise(beginning, lastCount: .max) } }
            return readDirectly(socket, limits)
        }
    }

    /// Returns the beginning of a read, and whether the engine thread must be told to watch the socket again.
    private func startReading() -> (ReadStart, mustWatch: Bool) {
        let isEngine = CallingThread.isEngine
        return state.withLock { state in
            state.onReadable = nil
            let next = Self.next(&state)
            guard case .wait = next else { return (.known(next), false) }
            // No engine's thread must be blocked, another one's neither.
            guard !isEngine else { return (.known(.wait), state.direct.end(.over)) }
            let wasOn = state.direct.isOn
            guard state.mayReadDirectly, let limits = state.direct.beginWait() else { return (.known(.wait), false) }
            let beginning = wasOn ? nil : state.direct.beginCount
            return (.direct(socket: state.plainSocket, limits: limits, beginning: beginning), false)
        }
    }

    private func readDirectly(_ socket: Int32, _ limits: (awake: Int64, asleep: Int64)) -> Data? {
        guard Self.waitingCount.add(1, ordering: .relaxed).newValue <= Self.maximumWaitingCount else {
            Self.waitingCount.subtract(1, ordering: .relaxed)
            endDirectReading(.refused)
            return nil
        }
        // The socket may be closed meanwhile, and another one opened with its number. Therefore nothing follows from the result but an
        // attempt to receive, if the connection has the socket then.
        let wait = ccurl_socket_wait(socket, limits.awake, limits.asleep)
        Self.waitingCount.subtract(1, ordering: .relaxed)
        guard wait != CCURL_WAIT_IN_VAIN,
            let (bytes, isRunOver) = receiveDirectly(socket, hasSlept: wait == CCURL_WAIT_ASLEEP)
        else {
            endDirectReading(.inVain)
            return nil
        }
        // More bytes are received by the engine thread, in larger pieces.
        let isMany = bytes.count == Self.largestRead
        if isMany || isRunOver { endDirectReading(isMany ? .inVain : .over) }
        return bytes
    }

    /// Receives bytes. Returns them, and whether the engine thread must have the socket again.
    private func receiveDirectly(_ socket: Int32, hasSlept: Bool) -> (bytes: Data, isRunOver: Bool)? {
        var received = unsafe ccurl_bytes(start: nil, count: 0)
        let isRunOver = state.withLock { state in
            // The socket is open, because ``forgetSocket()`` takes the same lock before the socket is closed.
            guard state.direct.isOn, state.mayReadDirectly, state.plainSocket == socket else { return false }
            unsafe received = ccurl_socket_receive(socket, WireLink.flags)
            guard unsafe received.count > 0 else { return false }
            unsafe state.moved.received += Int64(received.count)
            state.mayAnswer = true
            state.direct.didRead(hasSlept: hasSlept)
            if unsafe received.start == nil {
                state.receiveFailure = EngineFailure(
                    kind: .outOfMemory, message: "no memory for the received bytes")
            }
            return state.direct.isRunOver
        }
        guard let start = unsafe received.start else { return nil }
        return unsafe (Data(bytesNoCopy: start, count: received.count, deallocator: .free), isRunOver)
    }

    private func endDirectReading(_ end: DirectReading.End) {
        if state.withLock({ $0.direct.end(end) }) { wakeEngine() }
    }

    /// Lets the engine thread watch the socket again when the reader does not read any more. Runs on the engine thread, every
    /// two milliseconds while the reader reads on the socket.
    private func supervise(_ beginning: UInt64, lastCount: UInt64) {
        let count = state.withLock { state -> UInt64? in
            guard state.direct.isOn, state.direct.beginCount == beginning else { return nil }
            guard state.direct.readCount == lastCount, !state.direct.isReaderWaiting else {
                return state.direct.readCount
            }
            _ = state.direct.end(.over)
            return nil
        }
        guard let count else { return transfer.engine.advanceSwitched(transfer) }
        let next = engineExecutor.now.advanced(by: Self.supervisionInterval)
        _ = EngineAlarm(on: engineExecutor, at: next) { [self] in supervise(beginning, lastCount: count) }
    }
}
