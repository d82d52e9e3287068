import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The actor of an open WebSocket: its state, its messages that were not read yet, and the calls that wait.
///
/// The actor runs on the thread of the task that calls it. A caller that waits for a message reads the connection itself. Otherwise, the
/// actor is told when there are bytes to read, until enough messages wait for a caller (``readOn()``).
actor WebSocketConnection {
    /// The messages that wait for a reader, beyond which nothing is read from the connection, by their number and bytes.
    static let mark = (count: 32, bytes: 256 << 10)

    let connection: any DuplexConnection
    let options: WebSocketOptions
    let compression: WebSocketDeflate?
    let context: WebSocketContext
    /// The facts that the user can read at any time.
    nonisolated let facts = Locked(WebSocketFacts())

    var state = WebSocketState()
    var writer: WebSocketFrameWriter
    /// The messages that wait for a reader, and the number of their bytes.
    var messages = FIFO<WebSocketMessage>()
    var messageBytes = 0
    /// The callers that wait for a message while another one reads.
    var receivers = FIFO<ReceiveWaiter>()
    /// The way in which the messages end, after those that wait; `nil` while the connection is open.
    private(set) var ending: Result<Void, TrellisError>?
    /// The error of calls after the end; `nil` while the connection is open.
    private var endError: TrellisError?
    /// The parser of the incoming bytes.
    var reader: WebSocketReader
    var reading = WebSocketReading.frames
    /// The closure that is called when there are bytes to read and no caller reads; `nil` before the start.
    var onReadable: (@Sendable () -> Void)?
    /// Whether a caller that waits for a message reads the connection.
    var isBeingRead = false
    /// Whether nothing is read because too many messages wait for their reader.
    var isHeldUp = false
    /// Whether a reader has a message and did not ask for the next one yet.
    var isMessageInHands = false
    /// The continuation of the task that waits until the messages before a violation are read and answered.
    var settling: CheckedContinuation<Void, Never>?
    /// The calls that wait until the connection is cut.
    private var closers: [CheckedContinuation<Void, Never>] = []
    /// The calls that wait until an earlier message has room; `nil` if no message waits for room.
    var senders: FIFO<SendWaiter>?
    /// The payloads of the Ping frames that are not answered yet, while an earlier answer waits for room; `nil` if no answer is being sent.
    var unansweredPings: [Data]?
    var pings = WebSocketPings()
    /// The instant at which bytes were last received, or reading was resumed.
    var lastReceived: EngineInstant
    /// The instant at which a frame last got room after a wait, because the network has taken bytes.
    var lastRoom: EngineInstant
    /// The same as ``lastReceived`` without the answers to pings, so that an answer does not lengthen the time between two pings.
    var quietSince: EngineInstant
    /// The value of ``quietSince`` before the bytes that are being parsed.
    var earlierQuietSince: EngineInstant
    /// Whether the server has sent a message.
    var hasDelivered = false
    /// Whether a message was dropped because nothing read the messages before it.
    var hasDropped = false
    private var closeTimer: Task<Void, Never>?
    var keepAlive = WebSocketKeepAlive()
    /// The task that waits until the time of the conversation is over; `nil` if there is no limit.
    private var deadlineTask: Task<Void, Never>?
    /// Whether a ping that was sent by itself waits for room.
    var hasWaitingPing = false
    /// The number of the listener for the end of the session; `nil` if there is none.
    private var lifeListener: UInt64?
    /// The error of the transport, if it has failed.
    var transportError: (any Error)?
    private var lastNumber: UInt64 = 0

    init(
        _ connection: any DuplexConnection, _ options: WebSocketOptions, _ compression: WebSocketDeflate?,
        _ context: WebSocketContext
    ) {
        self.connection = connection
        self.options = options
        self.compression = compression
        self.context = context
        writer = WebSocketFrameWriter(compression: compression)
        reader = WebSocketReader(
            maximumFrameSize: options.maximumFrameSize ?? options.maximumMessageSize,
            maximumMessageSize: options.maximumMessageSize, compression: compression)
        lastReceived = context.now()
        lastRoom = lastReceived
        quietSince = lastReceived
        earlierQuietSince = lastReceived
    }

    /// Begins to read, and to send pings.
    func start() {
        // A session that ends at once tells the server that the client goes away.
        // Its mask has a source of its own, which is released here: an idle connection needs no other masks.
        var farewell = WebSocketFrameWriter(compression: nil)
        connection.setFarewell(farewell.control(.close, WebSocketClosing(code: .goingAway).payload))
        // The timer of a closing handshake retains the actor, and so does each call that waits.
        onReadable = { [weak self] in
            guard let self else { return }
            Task(executorPreference: self.connection.executor) { await self.readOn() }
        }
        listen()
        startKeepAlive()
        startDeadline()
        lifeListener = context.life?.whenDraining { [weak self] in
            self?.beginClosing(WebSocketClosing(code: .goingAway))
        }
    }

    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Effects

    /// Passes an event to the state, and performs the effects.
    func handle(_ event: WebSocketState.Event) { perform(state.handle(event)) }

    func perform(_ effects: [WebSocketState.Effect], payload: Data = Data()) {
        for effect in effects {
            switch effect {
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
        _ = try? connection.send(frame)
    }

    private func startDeadline() {
        guard let deadline = context.deadline(options.totalTimeout) else { return }
        deadlineTask = Task(executorPreference: connection.executor) { [context] in
            guard (try? await context.wait(until: deadline)) != nil else { return }
            await self.handle(.deadlineReached)
        }
    }

    private func startCloseTimer() {
        keepAlive.alarm?.cancel()
        deadlineTask?.cancel()
        let end = context.now().advanced(by: options.closeTimeout)
        closeTimer = Task(executorPreference: connection.executor) { [context] in
            guard (try? await context.wait(until: end)) != nil else { return }
            await self.handle(.closeTimedOut)
        }
    }

    private func finish(_ ending: WebSocketState.Ending) {
        let error = error(of: ending)
        endError = error
        self.ending = isComplete(ending) ? .success(()) : .failure(error)
        facts.withLock { $0.note(ending) }
        while let receiver = receivers.popFirst() { receiver.reply.resume(returning: nil) }
        pings.endAll(throwing: error)
        while let sender = senders?.popFirst() { sender.reply.resume(throwing: error) }
        connection.endWaits()
    }

    private func cut() {
        closeTimer?.cancel()
        keepAlive.alarm?.cancel()
        deadlineTask?.cancel()
        if let listener = lifeListener.take() { context.life?.forget(listener) }
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

    /// The error of a call on a connection that is not open: one for all calls after the end.
    var notOpen: TrellisError { endError ?? context.error(.notOpen) }

    private func error(of ending: WebSocketState.Ending) -> TrellisError {
        switch ending {
        case .closedByPeer(let closing): context.error(.closed(code: closing.code, reason: closing.reason))
        case .closed, .closedWithoutReply: context.error(hasDropped ? .dropped : .notOpen)
        case .failed(let violation):
            context.error(violation.limit.map { .tooLarge(limit: $0) } ?? .protocolViolation(violation.message))
        case .noPong: context.error(.noPong(after: options.pongTimeout ?? .zero))
        case .timedOut: context.timeoutError()
        case .lost: context.error(.lost("the server ended the connection"))
        case .transportFailed: context.error(of: transportError)
        }
    }

    /// Returns whether nothing shows that messages are missing.
    private func isComplete(_ ending: WebSocketState.Ending) -> Bool {
        switch ending {
        case .closedByPeer(let closing): closing.code.isNormal
        case .closed, .closedWithoutReply: !hasDropped
        case .failed, .noPong, .timedOut, .lost, .transportFailed: false
        }
    }
}

/// A call that waits for its turn to send a message.
struct SendWaiter: Sendable {
    let number: UInt64
    let reply: CheckedContinuation<Void, any Error>
}
