import CurlEngine
import FoundationEssentials
import TrellisCore

/// The outgoing messages of a connection, one after the other, and the pings and their answers, which go between them.
extension WebSocketConnection {
    /// Sends a message, and returns when there is room for another one.
    func send(_ message: WebSocketMessage) async throws {
        try Task.checkCancellation()
        guard state.isOpen else { throw notOpen }
        if waiters.senders != nil { try await waitForTurn() }
        if let rest = try beginSending(message) { try await finishSending(rest) }
    }

    /// Sends as many frames of a message as there is room for. Returns the message if its sender must wait for room then. Other senders
    /// wait for their turn meanwhile.
    ///
    /// Nearly all messages have room at once, which takes no function that may suspend.
    @inline(never)
    private func beginSending(_ message: WebSocketMessage) throws -> WebSocketOutgoing? {
        var mustPassTurn = true
        defer { if mustPassTurn { passTurn() } }
        guard state.isOpen else { throw notOpen }
        var outgoing: WebSocketOutgoing
        do {
            outgoing = try outbox.writer.outgoing(message, threshold: outbox.threshold)
        } catch {
            throw outOfMemory()
        }
        guard try !sendFrames(of: &outgoing) else { return nil }
        if waiters.senders == nil { waiters.senders = FIFO() }
        mustPassTurn = false
        return outgoing
    }

    /// Sends the other frames of a message, and returns when there is room for another message.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while a frame waits for room, which is sent nevertheless.
    private func finishSending(_ message: WebSocketOutgoing) async throws {
        var outgoing = message
        var mustPassTurn = true
        defer { if mustPassTurn { passTurn() } }
        do {
            try await sendRest(of: &outgoing)
        } catch let error as CancellationError {
            guard state.isOpen else { throw error }
            // The rest of a message that has begun must follow, and the next message waits until there is room. A task that is not
            // cancelled waits for it.
            mustPassTurn = false
            Task { [outgoing] in await finishCancelled(outgoing) }
            throw error
        }
    }

    private func finishCancelled(_ message: WebSocketOutgoing) async {
        var outgoing = message
        // The error is the connection's, which every other call gets too.
        try? await sendRest(of: &outgoing)
        passTurn()
    }

    /// Waits for room, and sends the next frames of a message, until all are sent and there is room for more.
    private func sendRest(of outgoing: inout WebSocketOutgoing) async throws {
        repeat {
            do {
                try await connection.waitForRoom()
            } catch let error as CancellationError {
                throw error
            } catch {
                throw sendError(error)
            }
            state.keepAlive.noteRoom(at: context.now())
            // The connection may have ended while the last frame waited for room.
            guard state.isOpen else { throw notOpen }
        } while try !sendFrames(of: &outgoing)
    }

    /// Sends the next frames of a message, as many as there is room for. Returns whether all are sent, and there is room for more.
    private func sendFrames(of outgoing: inout WebSocketOutgoing) throws -> Bool {
        do {
            while let hasRoom = try outbox.writer.sendFrame(of: &outgoing, on: connection) {
                guard hasRoom else { return false }
            }
            return true
        } catch is MessageDeflater.Failure {
            throw outOfMemory()
        } catch {
            throw sendError(error)
        }
    }

    private func sendError(_ error: any Error) -> any Error { state.isOpen ? context.error(of: error) : notOpen }

    /// Closes the connection, because a message cannot be sent whole, and what follows it could not be read. Returns the error.
    private func outOfMemory() -> TrellisError {
        handle(.close(WebSocketClosing(code: .internalError)))
        return TrellisError(.other("out of memory for a message of a WebSocket"))
    }

    private func waitForTurn() async throws {
        let number = waiters.nextNumber()
        try await withTaskCancellationHandler {
            try await withThrowingContinuation {
                waiters.senders?.append(WebSocketWaiters.Waiter(number: number, reply: $0))
            }
        } onCancel: {
            Task { await cancel(number) }
        }
    }

    private func passTurn() {
        if let next = waiters.senders?.popFirst() { next.reply.resume() } else { waiters.senders = nil }
    }

    // MARK: Pings

    /// Sends a ping, and returns the time until its answer.
    func ping() async throws -> Duration {
        try Task.checkCancellation()
        guard state.isOpen else { throw notOpen }
        let number = state.keepAlive.nextNumber()
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation { reply in
                waiters.add(reply, forPing: number)
                handle(.ping(number))
            }
        } onCancel: {
            Task { await cancelPing(number) }
        }
    }

    private func cancelPing(_ number: UInt64) {
        handle(.pingCancelled(number))
        waiters.cancelPing(number)
    }

    func sendPing(_ number: UInt64, isKeepAlive: Bool) {
        guard let frame = outbox.writer.control(.ping, WebSocketKeepAlive.payload(number)) else { return }
        guard let hasRoom = try? connection.send(frame), !hasRoom, isKeepAlive else { return }
        state.keepAlive.isPingWaiting = true
        Task.immediate { await waitForRoomOfPing() }
    }

    private func waitForRoomOfPing() async {
        try? await connection.waitForRoom()
        state.keepAlive.isPingWaiting = false
    }

    /// Answers a ping, once earlier answers have room.
    func answer(_ payload: Data) {
        guard outbox.waitingAnswers == nil else {
            outbox.waitingAnswers?.add(payload)
            return
        }
        guard let hasRoom = sendAnswer(payload), !hasRoom else { return }
        outbox.waitingAnswers = WebSocketAnswers()
        Task.immediate { await sendAnswers() }
    }

    /// Sends an answer. Returns whether there is room for more; `nil` if the answer cannot be sent.
    private func sendAnswer(_ payload: Data) -> Bool? {
        guard let frame = outbox.writer.control(.pong, Array(payload)) else { return nil }
        return try? connection.send(frame)
    }

    /// Sends the answers that wait, each when there is room.
    private func sendAnswers() async {
        while (try? await connection.waitForRoom()) != nil, state.takesFrames,
            let next = outbox.waitingAnswers?.popFirst()
        {
            guard sendAnswer(next) != nil else { break }
        }
        outbox.waitingAnswers = nil
    }
}
