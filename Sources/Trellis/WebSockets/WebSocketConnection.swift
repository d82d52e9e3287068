import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The actor of an open WebSocket: its state, its messages that were not read yet, and the calls that wait.
///
/// The actor runs on the thread of the task that calls it. Incoming bytes are read and parsed by a task of its own, which prefers the
/// thread of the connection and stops when enough messages wait for their reader.
actor WebSocketConnection {
    /// The messages that wait for a reader, beyond which nothing is read from the connection, by their number and bytes.
    static let mark = (count: 32, bytes: 256 << 10)

    let connection: any DuplexConnection
    let options: WebSocketOptions
    let compression: WebSocketDeflate?
    let site: WebSocketSite
    /// The facts that the user can read at any time.
    nonisolated let facts = Locked(WebSocketFacts())

    var state = WebSocketState()
    var writer: WebSocketFrameWriter
    /// The messages that wait for a reader, and the number of their bytes.
    private var messages = FIFO<WebSocketMessage>()
    private var messageBytes = 0
    private var readers: [(number: UInt64, reply: CheckedContinuation<WebSocketMessage?, any Error>)] = []
    /// The way in which the messages end, after those that wait; `nil` while the connection is open.
    private var ending: Result<Void, TrellisError>?
    /// The continuation of the task that reads the connection while too many messages wait.
    private var heldReader: CheckedContinuation<Void, Never>?
    /// Indicates whether a reader has a message and did not ask for the next one yet.
    private var isMessageInHands = false
    /// The continuation of the task that reads the connection, while the messages before a violation are read and answered.
    private var settling: CheckedContinuation<Void, Never>?
    /// The calls that wait until the connection is cut.
    private var closers: [CheckedContinuation<Void, Never>] = []
    /// The calls that wait until an earlier message is sent; `nil` if no message is being sent.
    var senders: FIFO<WebSocketTurn>?
    /// The payloads of the Ping frames that are not answered yet, while an earlier answer waits for room; `nil` if no answer is being sent.
    var unansweredPings: [Data]?
    var pings = WebSocketPings()
    /// The instant at which bytes were last received, or reading was resumed.
    var lastReceived: EngineInstant
    /// The same without the answers to pings, so that the time between two pings does not grow by the time of an answer.
    private(set) var quietSince: EngineInstant
    /// The value of ``quietSince`` before the bytes that are being parsed.
    private var earlierQuietSince: EngineInstant
    /// Indicates whether a message was dropped because nothing read the messages before it.
    private var hasDropped = false
    private var closeTimer: Task<Void, Never>?
    var keepAliveTask: Task<Void, Never>?
    /// The number of the listener for the end of the session; `nil` if there is none.
    private var lifeListener: UInt64?
    /// The error of the transport, if it has failed.
    private var transportError: (any Error)?
    private var lastNumber: UInt64 = 0

    init(
        _ connection: any DuplexConnection, _ options: WebSocketOptions, _ compression: WebSocketDeflate?,
        _ site: WebSocketSite
    ) {
        self.connection = connection
        self.options = options
        self.compression = compression
        self.site = site
        writer = WebSocketFrameWriter(compression: compression)
        lastReceived = site.now()
        quietSince = lastReceived
        earlierQuietSince = lastReceived
    }

    /// Begins to read, and to send pings.
    func start() {
        // A session that ends at once tells the server that the client goes away.
        connection.setFarewell(writer.control(.close, WebSocketClosing(code: .goingAway).payload))
        Task(executorPreference: connection.executor) { await self.read() }
        startKeepAlive()
        lifeListener = site.life?.whenDraining { [weak self] in
            self?.beginClosing(WebSocketClosing(code: .goingAway))
        }
    }

    /// Indicates whether enough messages wait for their reader.
    private var isAboveMark: Bool { messages.count >= Self.mark.count || messageBytes >= Self.mark.bytes }

    /// Indicates whether nothing is read because too many messages wait for their reader.
    var isHeldUp: Bool { heldReader != nil }

    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Messages

    /// Returns the next message; `nil` after the last one.
    func receive() async throws -> WebSocketMessage? {
        try Task.checkCancellation()
        if let message = takeMessage() { return message }
        if let ending {
            try ending.get()
            return nil
        }
        let number = nextNumber()
        isMessageInHands = false
        endSettling()
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation { readers.append((number, $0)) }
        } onCancel: {
            Task { await cancelReader(number) }
        }
    }

    private func cancelReader(_ number: UInt64) {
        guard let index = readers.firstIndex(where: { $0.number == number }) else { return }
        readers.remove(at: index).reply.resume(throwing: CancellationError())
    }

    private func takeMessage() -> WebSocketMessage? {
        guard let message = messages.popFirst() else { return nil }
        messageBytes -= message.byteCount
        isMessageInHands = true
        if messages.count <= Self.mark.count / 2, messageBytes <= Self.mark.bytes / 2 { resumeReading() }
        return message
    }

    private func deliver(_ message: WebSocketMessage) {
        // After a message that was dropped, the others must not be taken for those that follow the last one.
        guard !hasDropped else { return }
        facts.withLock { $0.hasMessages = true }
        if !readers.isEmpty {
            isMessageInHands = true
            return readers.removeFirst().reply.resume(returning: message)
        }
        // While this side closes, reading continues for the server's Close frame.
        guard state.isOpen || !isAboveMark else {
            hasDropped = true
            return
        }
        messages.append(message)
        messageBytes += message.byteCount
    }

    private func resumeReading() {
        guard let reader = heldReader else { return }
        heldReader = nil
        // The server was not listened to until now.
        noteReceived()
        reader.resume()
    }

    /// The limit on the time for which a violation waits for the readers of the messages before it.
    static var settlingLimit: Duration { .seconds(1) }

    /// Waits until the messages before a violation were read, and their reader has asked for another one: it may have answered them, which
    /// is not possible once the connection is failed.
    private func settle() async {
        guard state.isOpen, isMessageInHands || !messages.isEmpty else { return }
        let timer = Task(executorPreference: connection.executor) { [site] in
            guard (try? await site.wait(Self.settlingLimit)) != nil else { return }
            await self.endSettling()
        }
        await withContinuation { settling = $0 }
        timer.cancel()
    }

    private func endSettling() {
        settling?.resume()
        settling = nil
    }

    // MARK: Incoming events

    /// Reads the connection until it ends.
    private nonisolated func read() async {
        var reader = WebSocketReader(
            maximumFrameSize: options.maximumFrameSize ?? options.maximumMessageSize,
            maximumMessageSize: options.maximumMessageSize, compression: compression)
        var event = WebSocketState.Event.peerEnded
        do {
            while let bytes = try await connection.read() {
                await noteReceived()
                reader.feed(bytes)
                while let event = try reader.next() { await take(event) }
            }
        } catch let violation as WebSocketViolation {
            await settle()
            await handle(.violation(violation))
            // Nothing is understood any more, but the server shall see the Close frame before the connection ends.
            event = await drain()
        } catch {
            await note(error)
            event = .transportFailed
        }
        await handle(event)
    }

    /// Reads and drops bytes until the connection ends.
    private nonisolated func drain() async -> WebSocketState.Event {
        do {
            while try await connection.read() != nil {}
            return .peerEnded
        } catch {
            return .transportFailed
        }
    }

    private func noteReceived() {
        lastReceived = site.now()
        (earlierQuietSince, quietSince) = (quietSince, lastReceived)
    }

    private func note(_ error: any Error) { transportError = error }

    /// Takes an event, and returns when the next one may come.
    private func take(_ event: WebSocketEvent) async {
        switch event {
        case .message(let message): perform(state.handle(.receivedMessage), message: message)
        case .ping(let payload): perform(state.handle(.receivedPing), payload: payload)
        case .pong(let payload):
            quietSince = earlierQuietSince
            perform(state.handle(.receivedPong), payload: payload)
        case .close(let closing): handle(.receivedClose(closing))
        }
        guard state.isOpen, isAboveMark else { return }
        await withContinuation { heldReader = $0 }
    }

    // MARK: Effects

    /// Passes an event to the state, and performs the effects.
    func handle(_ event: WebSocketState.Event) { perform(state.handle(event)) }

    private func perform(_ effects: [WebSocketState.Effect], message: WebSocketMessage? = nil, payload: Data = Data()) {
        for effect in effects {
            switch effect {
            case .deliver: if let message { deliver(message) }
            case .answerPing: answer(payload)
            case .completePings: completePings(payload)
            case .sendClose(let closing): sendClose(closing)
            case .startCloseTimer: startCloseTimer()
            case .finish(let ending): finish(ending)
            case .cut: cut()
            }
        }
        guard !state.isOpen else { return }
        resumeReading()
        endSettling()
    }

    private func sendClose(_ closing: WebSocketClosing) {
        connection.setFarewell(nil)
        guard let frame = writer.control(.close, closing.payload) else { return connection.close() }
        Task.immediate { [connection] in try? await connection.write(frame) }
    }

    private func startCloseTimer() {
        keepAliveTask?.cancel()
        closeTimer = Task(executorPreference: connection.executor) { [options, site] in
            guard (try? await site.wait(options.closeTimeout)) != nil else { return }
            await self.handle(.closeTimedOut)
        }
    }

    private func finish(_ ending: WebSocketState.Ending) {
        let result = result(of: ending)
        self.ending = result
        facts.withLock { $0.note(ending) }
        for reader in readers { reader.reply.resume(with: result.map { nil }.mapError { $0 }) }
        readers.removeAll()
        let failure = failureOfCalls(ending)
        pings.endAll(throwing: failure)
        while let sender = senders?.popFirst() { sender.reply.resume(throwing: failure) }
        connection.endWaitsForRoom()
    }

    private func cut() {
        closeTimer?.cancel()
        keepAliveTask?.cancel()
        if let listener = lifeListener.take() { site.life?.forget(listener) }
        connection.close()
        for closer in closers { closer.resume() }
        closers.removeAll()
    }

    // MARK: Closing

    /// Closes the connection, and returns when it has ended.
    func close(_ closing: WebSocketClosing) async {
        handle(.close(closing))
        guard state.phase != .ended else { return }
        await withContinuation { closers.append($0) }
    }

    /// Begins to close the connection.
    nonisolated func beginClosing(_ closing: WebSocketClosing) {
        Task { await handle(.close(closing)) }
    }

    // MARK: Errors

    /// The error of a call on a connection that is not open.
    var notOpen: TrellisError {
        if case .failure(let error) = ending { return error }
        return site.error(.notOpen)
    }

    private func failureOfCalls(_ ending: WebSocketState.Ending) -> TrellisError {
        switch ending {
        case .closedByPeer(let closing):
            site.error(.closed(code: Int(closing.code.rawValue), reason: closing.reason))
        default: notOpen
        }
    }

    private func result(of ending: WebSocketState.Ending) -> Result<Void, TrellisError> {
        switch ending {
        case .closedByPeer(let closing):
            closing.code.isNormal ? .success(()) : .failure(failureOfCalls(ending))
        case .closed, .closedWithoutReply: .success(())
        case .failed(let violation):
            .failure(
                site.error(violation.limit.map { .tooLarge(limit: $0) } ?? .protocolViolation(violation.message)))
        case .noPong: .failure(site.error(.noPong(after: options.pongTimeout ?? .zero)))
        case .lost: .failure(site.error(.lost("the server ended the connection")))
        case .transportFailed: .failure(site.error(of: transportError))
        }
    }
}

/// A call that waits for its turn to send a message.
struct WebSocketTurn: Sendable {
    let number: UInt64
    let reply: CheckedContinuation<Void, any Error>
}
