import FoundationEssentials
import TerminalKit
import Trellis

/// The conversation of `trellis ws`: one connection, standard input and standard output.
struct Conversation: Sendable {
    /// The number of messages in the report.
    private static let reportedMessages = 1000
    /// The time that the server has for its Close frame when the conversation must end: less than the time that Ctrl-C leaves.
    private static let lastWait = Duration.seconds(1)

    let options: ConversationOptions

    /// The facts about the conversation, for the report.
    struct Record: Sendable {
        var session: Session?
        var socket: WebSocket?
        var messages: [JSONValue] = []
        var received = 0
        var sent = 0
        var failure: RequestFailure?
        var url = ""
    }

    private let record = Mutexed(Record())
    /// The line that is being typed; `nil` unless standard input and output are a terminal, and lines are messages.
    private let prompt: Prompt?
    private let hsts: HSTSStore?

    init(_ options: ConversationOptions) {
        self.options = options
        prompt = options.echo || options.report != nil ? nil : Prompt()
        hsts = options.hsts.map { HSTSStore(file: $0) }
    }

    /// Runs the program, and returns its exit status.
    static func run(_ options: ConversationOptions, _ interruption: Interruption) async -> CInt {
        let conversation = Conversation(options)
        let work = Task { await conversation.run() }
        interruption.whenItHappens { conversation.interrupt(work) }
        let isDone = await work.value
        return interruption.hasHappened ? ExitStatus.interrupted : isDone ? ExitStatus.done : ExitStatus.failed
    }

    /// Ends the conversation at Ctrl-C. The session ends a handshake that is under way, whose error then has the metrics so far.
    private func interrupt(_ work: Task<Bool, Never>) {
        prompt?.end()
        let record = record.value
        guard let session = record.session else { return work.cancel() }
        Task { await end(session, record.socket, .normalClosure, failingWith: Self.noAnswer) }
    }

    /// Runs the conversation. Returns whether it has ended well.
    private func run() async -> Bool {
        record.update { $0.url = options.url }
        do {
            await run(in: Session(configuration: try options.sessionConfiguration(hsts)))
        } catch {
            fail(error)
        }
        do throws(FileFailure) { try await hsts?.flush() } catch {
            fail(RequestFailure("file", error.description))
        }
        return await end()
    }

    /// Keeps the first failure.
    private func fail(_ error: any Error) {
        var failure = RequestFailure(error)
        // That the session has ended is the way of the cancellation.
        if failure.kind == "cancelled" { failure.message = RequestFailure(CancellationError()).message }
        record.update { [failure] in if $0.failure == nil { $0.failure = failure } }
    }

    private func run(in session: Session) async {
        record.update { $0.session = session }
        do {
            try await withDeadline(of: session) {
                let socket = try await session.webSocket(
                    options.url, options: options.webSocketOptions, headers: options.fields,
                    timeouts: options.deadline.map { Timeouts(total: .seconds($0)) })
                record.update { ($0.socket, $0.url) = (socket, socket.response.url) }
                try await converse(over: socket)
                try Self.check(socket)
            }
        } catch is ReaderHasGone {
            // The rest of the messages is of no interest.
        } catch {
            fail(error)
        }
        await end(session, record.value.socket, .goingAway)
    }

    /// Closes the connection if there is one, and ends the session: at once, or when the server has not answered for a while.
    ///
    /// - Parameter failure: The failure of the conversation if the server does not answer; `nil` if that is of no interest.
    private func end(
        _ session: Session, _ socket: WebSocket?, _ code: WebSocketCloseCode, failingWith failure: RequestFailure? = nil
    ) async {
        guard let socket else { return await session.shutdown() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await socket.close(code: code) }
            group.addTask {
                if (try? await Task.sleep(for: Self.lastWait)) != nil, let failure { fail(failure) }
                await session.shutdown()
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// The failure of a connection that has ended without a Close frame of the server.
    private static let noAnswer = RequestFailure(
        "websocket",
        "\(TrellisError.WebSocketFailure.lost("the server has not completed the closing handshake, or has broken the protocol"))"
    )

    /// Throws an error if the server has not closed the connection normally. The server's Close frame, or a message that breaks the
    /// protocol, may come after this side has begun to close, and then ends the messages without an error.
    private static func check(_ socket: WebSocket) throws {
        guard let code = socket.closeCode, !code.isNormal else { return }
        guard code != .abnormalClosure else { throw noAnswer }
        let failure = TrellisError.WebSocketFailure.closed(code: code, reason: socket.closeReason ?? "")
        throw RequestFailure("websocket", "\(failure)")
    }

    /// Runs `body`, and ends the conversation at the deadline, although `body` may wait for the closing handshake.
    private func withDeadline(of session: Session, _ body: @escaping @Sendable () async throws -> Void) async throws {
        guard let deadline = options.deadline else { return try await body() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .seconds(deadline))
                fail(RequestFailure("timeout_deadline", "timed out after \(deadline) s"))
                await end(session, record.value.socket, .goingAway)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Sends and receives until the connection has ended.
    private func converse(over socket: WebSocket) async throws {
        let goal = Goal(options.limit, inputHasEnded: options.echo)
        // Each task returns whether the conversation ends with it. The input may end first.
        try await withThrowingTaskGroup(of: Bool.self) { group in
            if !options.echo {
                group.addTask {
                    do { try await sendInput(over: socket) } catch let error as TrellisError
                        where error.kind == .webSocket
                    {
                        // The connection has ended. Its reader knows more.
                        return false
                    }
                    if goal.inputDidEnd() { try await socket.close() }
                    return false
                }
            }
            group.addTask {
                try await receive(from: socket, goal)
                return true
            }
            defer { group.cancelAll() }
            while try await group.next() == false {}
        }
    }

    private func receive(from socket: WebSocket, _ goal: Goal) async throws {
        while let message = try await socket.receive() {
            let step = goal.messageDidArrive()
            guard step != .beyond else { continue }
            try await print(message)
            if options.echo {
                do {
                    try await socket.send(message)
                    record.update { $0.sent += 1 }
                } catch let error as TrellisError where error.kind == .webSocket {
                    // The server may close as soon as it has the last byte. The next message, or the end, tells more.
                }
            }
            if step == .reached { return try await socket.close() }
        }
    }

    private func print(_ message: WebSocketMessage) async throws {
        let text = options.binary ? nil : message.text
        let base64 = text == nil ? message.data.base64EncodedString() : nil
        record.update { record in
            record.received += 1
            guard options.report != nil, record.messages.count < Self.reportedMessages else { return }
            record.messages.append(
                message.text.map { ["text": .text($0)] } ?? ["base64": .text(message.data.base64EncodedString())])
        }
        guard options.report == nil else { return }
        let line = text ?? base64 ?? ""
        if let prompt { return prompt.show(TerminalText.shown(line)) }
        try await StandardOutput.write((Terminal.output.isTerminal ? TerminalText.shown(line) : line) + "\n")
    }

    // MARK: Input

    private func sendInput(over socket: WebSocket) async throws {
        if let prompt {
            for try await chunk in try DescriptorChunks.standardInput() {
                let (lines, isEnd) = prompt.take(chunk)
                for line in lines { try await send(Data(line), over: socket) }
                if isEnd { return }
            }
            return
        }
        var line = Data()
        for try await chunk in try DescriptorChunks.standardInput() {
            for piece in chunk.split(separator: 0x0A, maxSplits: .max, omittingEmptySubsequences: false).enumerated() {
                if piece.offset > 0 {
                    try await send(line, over: socket)
                    line = Data()
                }
                line.append(piece.element)
            }
        }
        if !line.isEmpty { try await send(line, over: socket) }
    }

    private func send(_ line: Data, over socket: WebSocket) async throws {
        let line = line.last == 0x0D ? line.dropLast() : line
        if options.binary {
            guard let data = Data(base64Encoded: line) else {
                throw RequestFailure("invalid_request", "a line of standard input is not Base64")
            }
            try await socket.send(data)
        } else {
            guard let text = String(validating: line, as: UTF8.self) else {
                throw RequestFailure("invalid_request", "a line of standard input is not UTF-8")
            }
            try await socket.send(text)
        }
        record.update { $0.sent += 1 }
    }

    // MARK: End

    private func end() async -> Bool {
        prompt?.end()
        let record = record.value
        let isOK = record.failure == nil
        let trust = record.socket?.response.serverTrust ?? record.failure?.metrics?.serverTrust
        let isRefused = record.failure?.kind == "untrusted"
        if let certificates = options.pinning.certificates(of: trust, isRefused: isRefused) {
            Terminal.error.print(certificates)
        }
        if options.report != nil {
            try? await StandardOutput.write(report(record).text + "\n")
        } else if let failure = record.failure {
            Terminal.error.print("trellis: \(failure.message)")
        } else if prompt != nil, let code = record.socket?.closeCode {
            let reason = record.socket?.closeReason ?? ""
            Terminal.error.print("closed (\(code.rawValue)\(reason.isEmpty ? "" : ": \(TerminalText.shown(reason))"))")
        }
        return isOK
    }

    private func report(_ record: Record) -> JSONValue {
        let socket = record.socket
        var close = JSONValue.null
        if let code = socket?.closeCode {
            close = [
                "code": .integer(Int(code.rawValue)), "reason": .string(socket?.closeReason),
                "clean": .bool(code != .abnormalClosure),
            ]
        }
        return [
            "ok": .bool(record.failure == nil), "url": .string(record.failure?.url ?? record.url),
            "status": .integer((socket?.response ?? record.failure?.response)?.status.code),
            "subprotocol": .string(socket?.subprotocol), "extensions": .string(socket?.extensions),
            "messages": .array(record.messages), "received": .integer(record.received), "sent": .integer(record.sent),
            "close": close, "latency_s": socket?.latency.map { .seconds($0) } ?? .null,
            "error": record.failure.map(JSONValue.init) ?? .null,
            "metrics": (socket?.response.metrics ?? record.failure?.metrics).map(JSONValue.init) ?? .null,
        ]
    }
}
