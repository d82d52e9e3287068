package import FoundationEssentials

/// The error of a connection that was closed on this side, or with its engine.
package struct ConnectionClosed: Error, Hashable {
    /// Creates the error.
    package init() {}
}

/// The connection on which a server has switched protocols: bytes in both directions, with bounded buffers.
///
/// Any task may read, write and close. The engine thread moves the bytes between the buffers and the socket
/// (``serve(_:_:)``); a reader whose bytes have been received already, and a writer for whose bytes there is room, do not wait for it. A
/// writer sends a short answer itself (``sendAtOnce(_:_:)``).
package final class SwitchedConnection: Sendable {
    /// The number of received bytes at which the socket is no longer read until a reader has taken them: 256 KiB.
    package static let readAhead = 256 << 10
    /// The number of bytes to send beyond which writers wait: 64 KiB.
    package static let writeAhead = 64 << 10

    struct State: ~Copyable {
        var received = ChunkQueue()
        /// Whether the socket is not read before a reader has taken the received bytes.
        var isFull = false
        /// Whether the peer has sent all its bytes.
        var hasPeerEnded = false
        var reader: Waiter<Data?>?
        /// A closure that is called once there is something to read, unless a reader waits.
        var onReadable: (@Sendable () -> Void)?
        var outgoing = OutgoingBytes()
        /// The turn of the loop in which a writer last sent its bytes at once.
        var lastSendTurn = EngineInstant(nanoseconds: 0)
        /// Whether the engine thread has been told of the outgoing bytes, and has not sent all of them.
        var isSending = false
        var writers: [Waiter<Void>] = []
        /// The socket of a connection without TLS, on which a writer may send; -1 if there is none, or if the socket is closed.
        var plainSocket: Int32
        /// Whether bytes were received since a writer has last sent its bytes itself.
        var mayAnswer = true
        /// The decision whether the reader waits on the socket itself.
        var direct = DirectReading()
        /// Whether readers wait for bytes, and writers for room.
        var waits = true
        /// The bytes that are sent if the connection is ended with an error.
        var farewell: Data?
        /// The reason why no more bytes can be sent.
        var sendFailure: (any Error)?
        /// The reason why no more bytes are received, for the reader after the received bytes.
        var receiveFailure: (any Error)?
        /// The reason why the connection is over, for all calls.
        var end: (any Error)?
        var moved: (sent: Int64, received: Int64) = (0, 0)
        /// The number of the last waiter.
        var lastNumber: UInt64 = 0

        init(plainSocket: Int32) { self.plainSocket = plainSocket }

        /// Whether a reader would not wait.
        var isReadable: Bool { received.count > 0 || hasPeerEnded || receiveFailure != nil || end != nil }

        /// Whether the next bytes for the reader are on the socket, and it waits for them.
        var mayReadDirectly: Bool {
            plainSocket >= 0 && waits && !isReadable && !isFull && reader == nil && !direct.isEngineReceiving
        }

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    /// A task that waits.
    struct Waiter<Value: Sendable>: Sendable {
        let number: UInt64
        let reply: Reply<Value>
    }

    let state: Locked<State>
    let transfer: Transfer
    /// The thread of the connection, as an executor.
    package let engineExecutor: EngineExecutor

    /// Creates the connection of a transfer.
    ///
    /// - Parameters:
    ///   - received: The bytes that followed the head.
    ///   - plainSocket: The socket of a connection without TLS; -1 for another one.
    init(_ transfer: Transfer, received: RawSpan, plainSocket: Int32) {
        state = Locked(State(plainSocket: plainSocket))
        self.transfer = transfer
        engineExecutor = transfer.engine.executor
        let isStored = state.withLock { state in
            state.isFull = received.byteCount >= Self.readAhead
            state.moved.received = Int64(received.byteCount)
            return state.received.append(received)
        }
        if !isStored { didFail(EngineFailure(kind: .outOfMemory, message: "no memory for the received bytes")) }
    }

    /// Releases the memory of the bytes that were not sent, because the transfer has ended.
    func dropBytes() { state.withLock { $0.outgoing.removeAll() } }

    /// The numbers of bytes that were sent and received since the protocols were switched.
    var movedBytes: (sent: Int64, received: Int64) { state.withLock { $0.moved } }

    /// Lets the engine thread move bytes, or end the connection.
    func wakeEngine() {
        engineExecutor.submit { [transfer] in transfer.engine.advanceSwitched(transfer) }
    }

    // MARK: Reading

    enum Next {
        case bytes(Data, mustRead: Bool)
        case end
        case failure(any Error)
        case wait
    }

    /// Returns the next bytes of the peer, as soon as there are some; `nil` at the end of the peer's bytes.
    ///
    /// - Throws: ``ConnectionClosed`` after ``close()``; the error of ``end(with:)``; ``EngineFailure`` if the connection has failed or
    ///   another reader waits; `CancellationError` in a cancelled task, after which the connection can be read again.
    package func read() async throws -> Data? {
        if let bytes = try readSoon() { return bytes }
        return try await waitForBytes()
    }

    /// Returns the next bytes of the peer, as soon as the engine thread has received some; `nil` at the end of the peer's bytes.
    ///
    /// - Throws: The errors of ``read()``.
    package func waitForBytes() async throws -> Data? {
        let (number, isMeasured) = state.withLock { ($0.nextNumber(), $0.direct.measuresWaits) }
        let start = isMeasured ? MonotonicClock.now() : nil
        let bytes = try await withTaskCancellationHandler {
            try await withReply { enter(reader: Waiter(number: number, reply: $0)) }
        } onCancel: {
            cancelRead(number)
        }
        if let start { didWait(since: start) }
        return bytes
    }

    private func didWait(since start: EngineInstant) {
        let duration = MonotonicClock.now().nanoseconds(since: start)
        state.withLock { $0.direct.didWait(nanoseconds: duration) }
    }

    /// Returns the bytes that were received, without waiting: none if there are none, and `nil` at the end of the peer's bytes.
    ///
    /// - Throws: The errors of ``read()``, except `CancellationError`.
    package func readAvailable() throws -> Data? {
        switch state.withLock({ Self.next(&$0) }) {
        case .bytes(let bytes, let mustRead):
            if mustRead { wakeEngine() }
            return bytes
        case .end: return nil
        case .failure(let error): throw error
        case .wait: return Data()
        }
    }

    /// Calls `body` once, on any thread, as soon as there is something to read and no reader waits for it: bytes, their end, or an error.
    /// A later call, and a call that reads, replace `body`.
    package func whenReadable(_ body: @escaping @Sendable () -> Void) {
        let isReadable = state.withLock { state in
            state.onReadable = state.isReadable ? nil : body
            return state.isReadable
        }
        if isReadable { body() }
    }

    static func next(_ state: inout State) -> Next {
        if let end = state.end { return .failure(end) }
        if state.received.count > 0 {
            let bytes = state.received.take()
            let mustRead = state.isFull && state.received.count < readAhead
            if mustRead { state.isFull = false }
            return .bytes(bytes, mustRead: mustRead)
        }
        if let failure = state.receiveFailure { return .failure(failure) }
        if state.hasPeerEnded { return .end }
        return state.waits ? .wait : .bytes(Data(), mustRead: false)
    }

    private func enter(reader: Waiter<Data?>) {
        let next = state.withLock { state -> Next in
            if Task.isCancelled { return .failure(CancellationError()) }
            let next = Self.next(&state)
            guard case .wait = next else { return next }
            guard state.reader == nil else {
                return .failure(EngineFailure(kind: .internalError, message: "a connection has one reader at a time"))
            }
            state.reader = reader
            return .wait
        }
        switch next {
        case .wait: break
        case .bytes(let bytes, let mustRead):
            if mustRead { wakeEngine() }
            reader.reply.resume(with: .success(bytes))
        case .end: reader.reply.resume(with: .success(nil))
        case .failure(let error): reader.reply.resume(with: .failure(error))
        }
    }

    private func cancelRead(_ number: UInt64) {
        let reader = state.withLock { state -> Waiter<Data?>? in
            guard state.reader?.number == number else { return nil }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.reply.resume(with: .failure(CancellationError()))
    }

    /// Passes what was received to the reader that waits, or says that there is something to read.
    func wakeReader() {
        var body: (@Sendable () -> Void)?
        let (reader, next) = state.withLock { state -> (Waiter<Data?>?, Next) in
            guard let reader = state.reader else {
                if state.isReadable { body = state.onReadable.take() }
                return (nil, .wait)
            }
            let next = Self.next(&state)
            if case .wait = next { return (nil, .wait) }
            state.reader = nil
            return (reader, next)
        }
        body?()
        guard let reader else { return }
        switch next {
        case .bytes(let bytes, let mustRead):
            reader.reply.resume(with: .success(bytes))
            if mustRead { wakeEngine() }
        case .end: reader.reply.resume(with: .success(nil))
        case .failure(let error): reader.reply.resume(with: .failure(error))
        case .wait: break
        }
    }

    // MARK: Writing

    /// Adds bytes to those that are sent, in the order of the calls. Returns whether there is room for more: at most ``writeAhead`` bytes
    /// of all added ones are not in the socket's own buffer yet.
    ///
    /// - Throws: ``ConnectionClosed`` after ``close()``; the error of ``end(with:)``; ``EngineFailure`` if the connection has failed.
    package func send(_ bytes: Data) throws -> Bool {
        try add { state in
            let sent = sendAtOnce(bytes.bytes, &state)
            return state.outgoing.append(sent == 0 ? bytes : bytes.dropFirst(sent))
        }
    }

    /// Adds a copy of bytes to those that are sent, as ``send(_:)-(Data)`` does.
    package func send(_ bytes: RawSpan) throws -> Bool {
        try add { state in state.outgoing.append(bytes.extracting(droppingFirst: sendAtOnce(bytes, &state))) }
    }

    private func add(_ body: (inout State) -> Bool) throws -> Bool {
        let (mustWake, hasRoom) = try state.withLock { state throws in
            if let error = state.end ?? state.sendFailure { throw error }
            guard body(&state) else {
                let failure = EngineFailure(kind: .outOfMemory, message: "no memory for the bytes to send")
                // A part of the bytes may have been sent, which no other bytes may follow.
                state.sendFailure = failure
                throw failure
            }
            let mustWake = !state.isSending && state.outgoing.count > 0
            if mustWake { state.isSending = true }
            return (mustWake, !state.waits || state.outgoing.count <= Self.writeAhead)
        }
        if mustWake { startSending() }
        return hasRoom
    }

    private func startSending() {
        if engineExecutor.isCurrent { transfer.engine.sendSwitched(transfer) } else { wakeEngine() }
    }

    /// Returns when there is room for more bytes.
    ///
    /// - Throws: The errors of ``send(_:)``; `CancellationError` if the task is cancelled while it waits: the added bytes are sent
    ///   nevertheless.
    package func waitForRoom() async throws {
        let number = state.withLock { $0.nextNumber() }
        try await withTaskCancellationHandler {
            try await withReply { enter(writer: Waiter(number: number, reply: $0)) }
        } onCancel: {
            cancelWrite(number)
        }
    }

    private func enter(writer: Waiter<Void>) {
        let result = state.withLock { state -> Result<Void, any Error>? in
            if let error = state.end ?? state.sendFailure { return .failure(error) }
            if !state.waits || state.outgoing.count <= Self.writeAhead { return .success(()) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.writers.append(writer)
            return nil
        }
        if let result { writer.reply.resume(with: result) }
    }

    private func cancelWrite(_ number: UInt64) {
        let writer = state.withLock { state -> Waiter<Void>? in
            guard let index = state.writers.firstIndex(where: { $0.number == number }) else { return nil }
            return state.writers.remove(at: index)
        }
        writer?.reply.resume(with: .failure(CancellationError()))
    }

    /// Ends the waits of the reader for bytes and of writers for room, now and later. A read without bytes returns none.
    package func endWaits() {
        let (reader, writers) = state.withLock { state -> (Waiter<Data?>?, [Waiter<Void>]) in
            state.waits = false
            defer { (state.reader, state.writers) = (nil, []) }
            return (state.reader, state.writers)
        }
        reader?.reply.resume(with: .success(Data()))
        for writer in writers { writer.reply.resume(with: .success(())) }
    }

    /// Sets the bytes that are sent if the connection is ended with an error (``end(with:)``); `nil` for none.
    package func setFarewell(_ bytes: Data?) { state.withLock { $0.farewell = bytes } }

    // MARK: The end

    /// Closes the connection at once: waiting calls throw. Bytes that the socket's own buffer can take at once are still sent.
    package func close() {
        setFarewell(nil)
        end(with: ConnectionClosed())
    }

    /// Closes the connection as ``close()`` does, with another error for waiting and later calls, and with the farewell as its last bytes.
    package func end(with error: any Error) {
        var body: (@Sendable () -> Void)?
        let waiting = state.withLock { state -> (Waiter<Data?>?, [Waiter<Void>])? in
            guard state.end == nil else { return nil }
            state.end = error
            body = state.onReadable.take()
            if let farewell = state.farewell, state.sendFailure == nil { _ = state.outgoing.append(farewell) }
            defer { (state.reader, state.writers) = (nil, []) }
            return (state.reader, state.writers)
        }
        guard let (reader, writers) = waiting else { return }
        reader?.reply.resume(with: .failure(error))
        for writer in writers { writer.reply.resume(with: .failure(error)) }
        body?()
        wakeEngine()
    }
}
