import CurlEngine
import FoundationEssentials
import TrellisCore

/// The outgoing messages of a connection, one after the other, and the answers to pings, which go between them.
extension WebSocketConnection {
    /// Sends a message, and returns when there is room for another one.
    func send(_ message: WebSocketMessage) async throws {
        try Task.checkCancellation()
        guard state.isOpen else { throw notOpen }
        if senders != nil { try await waitForTurn() }
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
            outgoing = try writer.outgoing(message, threshold: options.compression?.threshold ?? .max)
        } catch {
            throw outOfMemory()
        }
        guard try !sendFrames(of: &outgoing) else { return nil }
        if senders == nil { senders = FIFO() }
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
            lastRoom = context.now()
            // The connection may have ended while the last frame waited for room.
            guard state.isOpen else { throw notOpen }
        } while try !sendFrames(of: &outgoing)
    }

    /// Sends the next frames of a message, as many as there is room for. Returns whether all are sent, and there is room for more.
    private func sendFrames(of outgoing: inout WebSocketOutgoing) throws -> Bool {
        do {
            while let hasRoom = try writer.sendFrame(of: &outgoing, on: connection) {
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
        guard let hasRoom = sendAnswer(payload), !hasRoom else { return }
        unansweredPings = []
        Task.immediate { await sendAnswers() }
    }

    /// Sends an answer. Returns whether there is room for more; `nil` if the answer cannot be sent.
    private func sendAnswer(_ payload: Data) -> Bool? {
        guard let frame = writer.control(.pong, Array(payload)) else { return nil }
        return try? connection.send(frame)
    }

    /// Sends the answers that wait, each when there is room.
    private func sendAnswers() async {
        while (try? await connection.waitForRoom()) != nil, state.takesFrames, let next = unansweredPings?.first {
            unansweredPings?.removeFirst()
            guard sendAnswer(next) != nil else { break }
        }
        unansweredPings = nil
    }
}
