import CurlEngine
import FoundationEssentials
import TrellisCore

/// The incoming side of a connection: bytes become messages for the callers that receive, and pings are answered.
///
/// Many thousands of calls may wait for messages. A function that waits has only references in its frame: the steps between its waits are
/// separate functions, marked `@inline(never)`.
extension WebSocketConnection {
    // MARK: Messages

    /// Returns the next message; `nil` after the last one.
    func receive() async throws -> WebSocketMessage? {
        try Task.checkCancellation()
        if let message = takeMessage() { return message }
        while mustWait() {
            guard mayRead else {
                if let message = try await waitForMessage() { return message }
                // A message may have come since, while this call was resumed.
                guard let message = takeMessage() else { continue }
                passOn()
                return message
            }
            inbox.reading = .framesOfCaller
            do {
                if let message = didRead(try await connection.read()) { return message }
            } catch {
                try didFailToRead(error)
            }
        }
        return try takeLastMessage()
    }

    /// Begins the wait of a caller for its next message. Returns `false` if the connection has ended.
    @inline(never)
    private func mustWait() -> Bool {
        guard end == nil else { return false }
        inbox.isMessageInHands = false
        if inbox.reading == .nothing { handle(.messagesAreRead) }
        return end == nil
    }

    /// Returns a message after the end of the connection; `nil` after the last one.
    @inline(never)
    private func takeLastMessage() throws -> WebSocketMessage? {
        // The server's last bytes, and their end, are found without a caller.
        listen()
        if let message = takeMessage() { return message }
        try end?.ofMessages.get()
        return nil
    }

    /// Whether a caller may read the connection.
    private var mayRead: Bool { inbox.reading == .frames }

    private func waitForMessage() async throws -> WebSocketMessage? {
        let number = waiters.nextNumber()
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation {
                waiters.receivers.append(WebSocketWaiters.Waiter(number: number, reply: $0))
            }
        } onCancel: {
            Task { await cancel(number) }
        }
    }

    /// Cancels a call that waits for a message, or for its turn to send.
    func cancel(_ number: UInt64) { waiters.cancel(number) }

    /// Gives the messages that wait to the other callers. The next caller reads on.
    @inline(never)
    private func passOn() {
        // Removed first: the end of the connection, which may follow the message, resumes all receivers.
        while !inbox.isEmpty, let receiver = waiters.receivers.popFirst() {
            receiver.reply.resume(returning: takeMessage())
        }
        guard mayRead, let receiver = waiters.receivers.popFirst() else { return listen() }
        receiver.reply.resume(returning: nil)
    }

    @inline(never)
    private func takeMessage() -> WebSocketMessage? {
        guard let message = inbox.take() else { return nil }
        if inbox.isBelowLowMark { resumeReading() }
        return message
    }

    /// Adds a message to those that wait for a reader.
    private func deliver(_ message: WebSocketMessage) {
        guard inbox.add(message, isOpen: state.isOpen) else { return }
        facts.withLock { $0.hasMessages = true }
    }

    // MARK: Reading

    /// Takes the next bytes for a caller that waits for a message. Returns the message, if they complete one.
    @inline(never)
    private func didRead(_ bytes: Data?) -> WebSocketMessage? {
        inbox.reading = .frames
        take(bytes)
        guard let message = takeMessage() else { return nil }
        passOn()
        return message
    }

    /// Ends the connection with the error of a read.
    ///
    /// - Throws: `CancellationError` if the task was cancelled, after which another caller may read.
    @inline(never)
    private func didFailToRead(_ error: any Error) throws {
        inbox.reading = .frames
        guard error is CancellationError, Task.isCancelled else { return fail(error) }
        passOn()
        throw error
    }

    /// Reads what was received while no caller reads.
    func readOn() {
        guard isListening else { return }
        do { take(try connection.readAvailable()) } catch { return fail(error) }
        passOn()
    }

    /// Waits for bytes, unless a caller does so. Without a caller that receives messages, pings are answered too, and the end of the
    /// connection is found.
    func listen() {
        guard isListening, let onReadable else { return }
        connection.whenReadable(onReadable)
    }

    private var isListening: Bool { mayRead || inbox.reading == .rest }

    /// Takes bytes, or `nil` for their end.
    private func take(_ bytes: Data?) {
        guard let bytes else { return didEnd(.peerEnded) }
        guard !bytes.isEmpty else { return }
        state.keepAlive.noteReceived(at: context.now())
        guard mayRead else { return }
        inbox.reader.feed(bytes)
        parse()
    }

    /// The number of frames that are handled in one turn. The bytes of one read may have a hundred thousand empty ones, during which
    /// neither the thread nor the calls of this connection would have their turn.
    static var framesPerTurn: Int { 256 }

    /// Handles the frames of the bytes that were read, until enough messages wait for their reader, or the frames of a turn are handled.
    ///
    /// Messages of as many bytes as may wait are the share of a turn too. While this side closes, nothing holds them, and few bytes may
    /// become very many when they are decompressed.
    private func parse() {
        var (frames, bytes, pings) = (Self.framesPerTurn, 0, WebSocketAnswers())
        do throws(WebSocketViolation) {
            while !mustHold, let event = try inbox.reader.next(&frames) {
                handle(event, &pings)
                if case .message(let message) = event { bytes += message.byteCount }
                if bytes >= WebSocketInbox.mark.bytes { frames = 0 }
            }
            answerAll(&pings)
            if mustHold {
                inbox.reading = .heldUp
            } else if frames == 0, !inbox.reader.isClosed {
                parseLater()
            }
        } catch {
            answerAll(&pings)
            fail(error)
        }
    }

    private func parseLater() {
        inbox.reading = .later
        Task(executorPreference: connection.executor) { await self.parseOn() }
    }

    /// Handles the frames of the next turn, and gives their messages to the callers that wait. On a connection that was cut meanwhile, the
    /// frames have no effect, and are not decompressed.
    private func parseOn() {
        guard inbox.reading == .later, state.phase != .ended else { return }
        inbox.reading = .frames
        parse()
        passOn()
    }

    private var mustHold: Bool { state.isOpen && inbox.isAboveMark }

    private func handle(_ event: WebSocketEvent, _ pings: inout WebSocketAnswers) {
        switch event {
        case .message(let message): if state.takesFrames { deliver(message) }
        case .ping(let payload): pings.add(payload)
        case .pong(let payload): handle(.receivedPong(payload))
        case .close(let closing):
            // Nothing is sent after the answer to a Close frame.
            answerAll(&pings)
            handle(.receivedClose(closing))
        }
    }

    /// Answers the pings of a turn.
    private func answerAll(_ pings: inout WebSocketAnswers) {
        for payload in pings.takeAll() { handle(.receivedPing(payload)) }
    }

    /// Whether nothing is read because too many messages wait for their reader.
    var isHeldUp: Bool { inbox.reading == .heldUp }

    /// Reads on, if too many messages have waited until now.
    func resumeReading() {
        guard isHeldUp else { return }
        inbox.reading = .frames
        // The server was not listened to until now.
        state.keepAlive.noteReceived(at: context.now())
        parse()
        listen()
    }

    private func didEnd(_ event: WebSocketState.Event) {
        inbox.reading = .ended
        handle(event)
    }

    private func fail(_ error: any Error) {
        transportError = error
        didEnd(.transportFailed)
    }

    private func fail(_ violation: WebSocketViolation) {
        inbox.reading = .nothing
        handle(.violation(violation, hasUnread: inbox.hasUnread))
    }

    /// Ends the messages because of a violation. Nothing is understood any more, but the server shall see the Close frame before the
    /// connection ends.
    func readRest() {
        guard inbox.reading == .nothing else { return }
        inbox.reading = .rest
        listen()
    }
}
