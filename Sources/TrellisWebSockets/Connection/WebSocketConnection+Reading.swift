import CurlEngine
import FoundationEssentials
import TrellisCore

/// The part of the incoming bytes that is read.
enum WebSocketReading: Hashable, Sendable {
    /// Frames.
    case frames
    /// Nothing: the other frames of the bytes that were read are handled in the next turn.
    case later
    /// Nothing: the messages before a violation are read and answered first.
    case nothing
    /// Bytes that are not understood any more and dropped, after a violation.
    case rest
    /// Nothing, because the connection has ended.
    case ended
}

/// A call that waits for a message while another one reads.
struct ReceiveWaiter: Sendable {
    let number: UInt64
    /// The reply: a message, or `nil` if the call shall look for itself.
    let reply: CheckedContinuation<WebSocketMessage?, any Error>
}

/// The incoming side of a connection: bytes become messages for the callers that receive, and pings are answered.
///
/// Many thousands of calls may wait for messages. A function that waits has only references in its frame; the steps between its waits are
/// functions of their own, which are `@inline(never)` for that reason.
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
            isBeingRead = true
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
        guard ending == nil else { return false }
        isMessageInHands = false
        endSettling()
        return true
    }

    /// Returns a message after the end of the connection; `nil` after the last one.
    @inline(never)
    private func takeLastMessage() throws -> WebSocketMessage? {
        // The server's last bytes, and their end, are found without a caller.
        listen()
        if let message = takeMessage() { return message }
        try ending?.get()
        return nil
    }

    /// Whether a caller may read the connection.
    private var mayRead: Bool { reading == .frames && !isBeingRead && !isHeldUp }

    private func waitForMessage() async throws -> WebSocketMessage? {
        let number = nextNumber()
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation { receivers.append(ReceiveWaiter(number: number, reply: $0)) }
        } onCancel: {
            Task { await cancelReceiver(number) }
        }
    }

    private func cancelReceiver(_ number: UInt64) {
        var cancelled: ReceiveWaiter?
        receivers.removeAll { receiver in
            if receiver.number == number { cancelled = receiver }
            return receiver.number == number
        }
        cancelled?.reply.resume(throwing: CancellationError())
    }

    /// Gives the messages that wait to the other callers, of which the next one reads on.
    @inline(never)
    private func passOn() {
        // Removed first: the end of the connection, which may follow the message, resumes all receivers.
        while !messages.isEmpty, let receiver = receivers.popFirst() {
            receiver.reply.resume(returning: takeMessage())
        }
        guard mayRead, let receiver = receivers.popFirst() else { return listen() }
        receiver.reply.resume(returning: nil)
    }

    /// Whether enough messages wait for their reader.
    private var isAboveMark: Bool { messages.count >= Self.mark.count || messageBytes >= Self.mark.bytes }

    @inline(never)
    private func takeMessage() -> WebSocketMessage? {
        guard let message = messages.popFirst() else { return nil }
        messageBytes -= message.byteCount
        isMessageInHands = true
        if messages.count <= Self.mark.count / 2, messageBytes <= Self.mark.bytes / 2 { resumeReading() }
        return message
    }

    /// Adds a message to those that wait for a reader.
    func deliver(_ message: WebSocketMessage) {
        // After a message that was dropped, the others must not be taken for those that follow the last one.
        guard !hasDropped else { return }
        // While this side closes, reading continues for the server's Close frame.
        guard state.isOpen || !isAboveMark else {
            hasDropped = true
            return
        }
        if !hasDelivered { didDeliverFirst() }
        messages.append(message)
        messageBytes += message.byteCount
    }

    private func didDeliverFirst() {
        hasDelivered = true
        facts.withLock { $0.hasMessages = true }
    }

    // MARK: Reading

    /// Takes the next bytes for a caller that waits for a message. Returns the message, if they complete one.
    @inline(never)
    private func didRead(_ bytes: Data?) -> WebSocketMessage? {
        isBeingRead = false
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
        isBeingRead = false
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

    private var isListening: Bool { mayRead || reading == .rest }

    /// Takes bytes, or `nil` for their end.
    private func take(_ bytes: Data?) {
        guard let bytes else { return end(.peerEnded) }
        guard !bytes.isEmpty else { return }
        noteReceived()
        guard reading == .frames else { return }
        reader.feed(bytes)
        parse()
    }

    private func noteReceived() {
        lastReceived = context.now()
        (earlierQuietSince, quietSince) = (quietSince, lastReceived)
    }

    /// The number of frames that are handled in one turn. The bytes of one read may have a hundred thousand empty ones, during which
    /// neither the thread nor the calls of this connection would have their turn.
    static var framesPerTurn: Int { 256 }

    /// Handles the frames of the bytes that were read, until enough messages wait for their reader, or the frames of a turn are handled.
    ///
    /// Messages of as many bytes as may wait are the share of a turn too. While this side closes, nothing holds them, and few bytes may
    /// become very many when they are decompressed.
    private func parse() {
        var (frames, bytes, pings) = (Self.framesPerTurn, 0, [Data]())
        do throws(WebSocketViolation) {
            while !mustHold, let event = try reader.next(&frames) {
                handle(event, &pings)
                if case .message(let message) = event { bytes += message.byteCount }
                if bytes >= Self.mark.bytes { frames = 0 }
            }
            answerAll(&pings)
            isHeldUp = mustHold
            if frames == 0, !isHeldUp, !reader.isClosed { parseLater() }
        } catch {
            answerAll(&pings)
            fail(error)
        }
    }

    private func parseLater() {
        reading = .later
        Task(executorPreference: connection.executor) { await self.parseOn() }
    }

    /// Handles the frames of the next turn, and gives their messages to the callers that wait. On a connection that was cut meanwhile, the
    /// frames have no effect, and are not decompressed.
    private func parseOn() {
        guard reading == .later, state.phase != .ended else { return }
        reading = .frames
        parse()
        passOn()
    }

    private var mustHold: Bool { state.isOpen && isAboveMark }

    private func handle(_ event: WebSocketEvent, _ pings: inout [Data]) {
        switch event {
        case .message(let message): if state.takesFrames { deliver(message) }
        case .ping(let payload): Self.add(payload, to: &pings)
        case .pong(let payload):
            quietSince = earlierQuietSince
            perform(state.handle(.receivedPong), payload: payload)
        case .close(let closing):
            // Nothing is sent after the answer to a Close frame.
            answerAll(&pings)
            handle(.receivedClose(closing))
        }
    }

    /// Answers the pings of a turn.
    private func answerAll(_ pings: inout [Data]) {
        for payload in pings { perform(state.handle(.receivedPing), payload: payload) }
        pings.removeAll()
    }

    /// Reads on after a time in which too many messages have waited.
    func resumeReading() {
        guard isHeldUp else { return }
        isHeldUp = false
        // The server was not listened to until now.
        noteReceived()
        parse()
        listen()
    }

    private func end(_ event: WebSocketState.Event) {
        reading = .ended
        handle(event)
    }

    private func fail(_ error: any Error) {
        transportError = error
        end(.transportFailed)
    }

    // MARK: Violations

    /// The limit on the time for which a violation waits for the readers of the messages before it.
    static var settlingLimit: Duration { .seconds(1) }

    private func fail(_ violation: WebSocketViolation) {
        reading = .nothing
        guard mustSettle else { return endReading(violation) }
        Task(executorPreference: connection.executor) {
            await self.settle()
            await self.endReading(violation)
        }
    }

    private var mustSettle: Bool { state.isOpen && (isMessageInHands || !messages.isEmpty) }

    /// Ends the messages because of a violation. Nothing is understood any more, but the server shall see the Close frame before the
    /// connection ends.
    private func endReading(_ violation: WebSocketViolation) {
        reading = .rest
        handle(.violation(violation))
        listen()
    }

    /// Waits until the messages before a violation were read, and their reader has asked for another one: it may have answered them, which
    /// is not possible once the connection is failed.
    private func settle() async {
        guard mustSettle else { return }
        let end = context.now().advanced(by: Self.settlingLimit)
        let timer = Task(executorPreference: connection.executor) { [context] in
            guard (try? await context.wait(until: end)) != nil else { return }
            await self.endSettling()
        }
        await withContinuation { settling = $0 }
        timer.cancel()
    }

    func endSettling() {
        settling?.resume()
        settling = nil
    }
}
