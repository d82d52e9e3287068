import CurlEngine
import FoundationEssentials

/// The outgoing messages of a connection, one after the other, and the answers to pings, which go between them.
extension WebSocketConnection {
    /// Sends a message, and returns when there is room for another one.
    func send(_ message: WebSocketMessage) async throws {
        try Task.checkCancellation()
        guard state.isOpen else { throw notOpen }
        if senders == nil { senders = FIFO() } else { try await waitForTurn() }
        var mustPassTurn = true
        defer { if mustPassTurn { passTurn() } }
        guard state.isOpen else { throw notOpen }
        var outgoing: WebSocketOutgoing
        do {
            outgoing = try writer.outgoing(message, threshold: options.compression?.threshold ?? .max)
        } catch {
            throw outOfMemory()
        }
        do {
            try await sendFrames(of: &outgoing)
        } catch let error as CancellationError {
            guard state.isOpen, !outgoing.isComplete else { throw error }
            // The rest of a message that has begun must follow. A task that is not cancelled waits for its room.
            mustPassTurn = false
            Task { [outgoing] in await sendRest(of: outgoing) }
            throw error
        }
    }

    /// Sends the frames of a message that were not sent yet.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while a frame waits for room, which is sent nevertheless.
    private func sendFrames(of outgoing: inout WebSocketOutgoing) async throws {
        while let frame = try nextFrame(of: &outgoing) {
            // No frame of a message follows a Close frame (RFC 6455, section 5.5.1).
            guard state.isOpen else { throw notOpen }
            do {
                let start = context.now()
                try await connection.write(frame)
                let now = context.now()
                if now > start.advanced(by: Self.noticeableWait) { lastRoom = now }
            } catch let error as CancellationError {
                throw error
            } catch {
                throw state.isOpen ? context.error(of: error) : notOpen
            }
        }
        // The connection may have ended while the last frame waited for room.
        guard state.isOpen else { throw notOpen }
    }

    /// The time from which on a frame has probably waited for room.
    private static var noticeableWait: Duration { .milliseconds(1) }

    private func nextFrame(of outgoing: inout WebSocketOutgoing) throws -> Data? {
        do throws(MessageDeflater.Failure) { return try writer.frame(of: &outgoing) } catch { throw outOfMemory() }
    }

    private func sendRest(of outgoing: WebSocketOutgoing) async {
        var outgoing = outgoing
        // An error is that of the connection, which every other call gets too.
        try? await sendFrames(of: &outgoing)
        passTurn()
    }

    /// Closes the connection, because a message cannot be sent whole, and what follows it could not be read. Returns the error.
    private func outOfMemory() -> TrellisError {
        handle(.close(WebSocketClosing(code: .internalError)))
        return TrellisError(.other("out of memory for a message of a WebSocket"))
    }

    private func waitForTurn() async throws {
        let number = nextNumber()
        try await withTaskCancellationHandler {
            try await withThrowingContinuation { senders?.append(SendWaiter(number: number, reply: $0)) }
        } onCancel: {
            Task { await cancelSender(number) }
        }
    }

    private func cancelSender(_ number: UInt64) {
        var cancelled: SendWaiter?
        senders?.removeAll { turn in
            if turn.number == number { cancelled = turn }
            return turn.number == number
        }
        cancelled?.reply.resume(throwing: CancellationError())
    }

    private func passTurn() {
        if let next = senders?.popFirst() { next.reply.resume() } else { senders = nil }
    }

    // MARK: Pings of the server

    /// The limit on the pings of one turn that are answered, and on the answers that wait for another one, which itself waits for room.
    static var largestBacklog: Int { 16 }

    /// Adds a ping to those that are to be answered. When there are many, the last of them gives way to the new one (RFC 6455, section
    /// 5.5.3).
    static func add(_ payload: Data, to pings: inout [Data]) {
        if pings.count == largestBacklog { pings.removeLast() }
        pings.append(payload)
    }

    /// Answers a ping, once earlier answers have room. Those that wait are limited, so that a server that sends pings and reads nothing
    /// takes no memory.
    func answer(_ payload: Data) {
        if var waiting = unansweredPings.take() {
            Self.add(payload, to: &waiting)
            unansweredPings = waiting
            return
        }
        guard let frame = writer.control(.pong, Array(payload)) else { return }
        unansweredPings = []
        Task.immediate { await sendAnswers(frame) }
    }

    private func sendAnswers(_ first: Data) async {
        var frame = first
        while (try? await connection.write(frame)) != nil, state.answersPings, let next = unansweredPings?.first,
            let answer = writer.control(.pong, Array(next))
        {
            unansweredPings?.removeFirst()
            frame = answer
        }
        unansweredPings = nil
    }
}
