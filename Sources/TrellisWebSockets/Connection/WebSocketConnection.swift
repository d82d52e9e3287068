import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The actor of an open WebSocket: it tells its state what happens, performs the effects, and resumes the calls that wait.
///
/// The actor runs on the thread of the task that calls it. A caller that waits for a message reads the connection itself. Otherwise, the
/// actor is told when there are bytes to read, until enough messages wait for a caller (``readOn()``).
actor WebSocketConnection {
    let connection: any DuplexConnection
    let context: WebSocketContext
    /// The facts that the user can read at any time.
    nonisolated let facts = Locked(WebSocketFacts())

    var state: WebSocketState
    var inbox: WebSocketInbox
    var outbox: WebSocketOutbox
    var waiters = WebSocketWaiters()
    /// The end of the connection for its callers; `nil` while it is open.
    private(set) var end: WebSocketEnd?
    /// The closure that is called when there are bytes to read and no caller reads; `nil` before the start.
    private(set) var onReadable: (@Sendable () -> Void)?
    /// The alarm of an open connection, if one is set.
    private var alarm: EngineAlarm?
    /// The task that waits until the time of a closing handshake is over, if one has begun.
    private var closeTimer: Task<Void, Never>?
    /// The number of the listener for the end of the session; `nil` if there is none.
    private var lifeListener: UInt64?
    /// The error of the transport, if it has failed.
    var transportError: (any Error)?

    init(
        _ connection: any DuplexConnection, options: WebSocketOptions, compression: WebSocketDeflate?,
        context: WebSocketContext
    ) {
        self.connection = connection
        self.context = context
        state = WebSocketState(options, deadline: context.deadline(options.totalTimeout), at: context.now())
        inbox = WebSocketInbox(options, compression: compression)
        outbox = WebSocketOutbox(options, compression: compression)
    }

    /// Begins to read, and to send pings.
    func start() {
        // A session that ends at once tells the server that the client goes away.
        // The source of its mask is released here: an idle connection needs no other masks.
        var farewell = WebSocketFrameWriter(compression: nil)
        connection.setFarewell(farewell.control(.close, WebSocketClosing(code: .goingAway).payload))
        // The timer of a closing handshake retains the actor, and so does each call that waits.
        onReadable = { [weak self] in
            guard let self else { return }
            Task(executorPreference: self.connection.executor) { await self.readOn() }
        }
        listen()
        handle(.opened)
        lifeListener = context.life?.whenDraining { [weak self] in
            self?.beginClosing(WebSocketClosing(code: .goingAway))
        }
    }

    // MARK: Effects

    /// Passes an event to the state, and performs the effects.
    func handle(_ event: WebSocketState.Event) {
        for effect in state.handle(event, at: context.now()) {
            switch effect {
            case .answerPing(let payload): answer(payload)
            case .sendPing(let number, let isKeepAlive): sendPing(number, isKeepAlive: isKeepAlive)
            case .completePings(let answers): complete(answers)
            case .setAlarm(let instant): setAlarm(instant)
            case .sendClose(let closing): sendClose(closing)
            case .finish(let ending): finish(ending)
            case .cut: cut()
            }
        }
        guard !state.isOpen else { return }
        resumeReading()
        readRest()
    }

    private func complete(_ answers: [WebSocketKeepAlive.Answer]) {
        facts.withLock { $0.latency = answers.last?.latency }
        for answer in answers { waiters.completePing(answer) }
    }

    private func sendClose(_ closing: WebSocketClosing) {
        connection.setFarewell(nil)
        guard let frame = outbox.writer.control(.close, closing.payload) else { return connection.close() }
        _ = try? connection.send(frame)
    }

    /// Sets the alarm of the state.
    ///
    /// No task waits for the alarm of an open connection, because a task takes far more memory than the connection's other state. The one
    /// of a closing handshake retains the actor until the connection is cut.
    private func setAlarm(_ instant: EngineInstant) {
        alarm?.cancel()
        alarm = nil
        guard state.isOpen else {
            closeTimer = Task(executorPreference: connection.executor) { [context] in
                guard (try? await context.wait(until: instant)) != nil else { return }
                await self.alarmIsDue(instant)
            }
            return
        }
        alarm = EngineAlarm(on: context.timekeeper(), at: instant) { [weak self] in
            guard let self else { return }
            Task(executorPreference: self.connection.executor) { await self.alarmIsDue(instant) }
        }
    }

    private func alarmIsDue(_ instant: EngineInstant) {
        if instant == state.alarm { alarm = nil }
        handle(.alarm(instant, isHeldUp: isHeldUp))
    }

    private func finish(_ ending: WebSocketState.Ending) {
        let error = context.error(of: ending, hasDropped: inbox.hasDropped, transportError: transportError)
        end = WebSocketEnd(
            ofMessages: ending.isComplete && !inbox.hasDropped ? .success(()) : .failure(error), error: error)
        facts.withLock { $0.note(ending) }
        waiters.end(throwing: error)
        connection.endWaits()
    }

    private func cut() {
        closeTimer?.cancel()
        alarm?.cancel()
        alarm = nil
        if let listener = lifeListener.take() { context.life?.forget(listener) }
        connection.close()
        waiters.resumeClosers()
    }

    // MARK: Closing

    /// Closes the connection, and returns when it has ended.
    func close(_ closing: WebSocketClosing) async {
        handle(.close(closing))
        guard state.phase != .ended else { return }
        await withContinuation { waiters.add($0) }
    }

    /// Begins to close the connection.
    nonisolated func beginClosing(_ closing: WebSocketClosing) {
        Task { await handle(.close(closing)) }
    }

    /// The error of a call on a connection that is not open: one for all calls after the end.
    var notOpen: TrellisError { end?.error ?? context.error(.notOpen) }
}

/// The end of a connection for its callers.
struct WebSocketEnd: Sendable {
    /// The end of the messages, after those that wait.
    let ofMessages: Result<Void, TrellisError>
    /// The error of the other calls.
    let error: TrellisError
}
