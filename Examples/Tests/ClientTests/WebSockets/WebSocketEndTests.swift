import Testing

/// The ends of a conversation: Close frames, failures, and Ctrl-C.
@Suite(.timeLimit(.minutes(60))) struct WebSocketEndTests {
    @Test(arguments: [1000, 1001, 3000, 1011])
    func theServersCodeDecidesTheExitStatus(code: Int) async throws {
        let server = try await WebSocketServer.shared.value
        let status: Int32 = code <= 1001 ? 0 : 1
        let report = try await talkReport("", ["\(server.url)/close/\(code)", "--limit", "9"], status: status)
        #expect(report["messages"].elements.map { $0["text"] } == ["first"])
        #expect(report["close"] == ["code": .integer(code), "reason": "why", "clean": true])
    }

    @Test func aServerMayCloseWithoutACode() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("", ["\(server.url)/close/none", "--limit", "9"])
        #expect(report.values("ok", "error", "messages") == [true, .null, [["text": "first"]]])
        #expect(report["close"] == ["code": 1005, "reason": "", "clean": true])
        let run = try await talk("", ["\(server.url)/close/none", "--limit", "9"])
        #expect(run.text == "first\n" && run.status == 0)
    }

    /// The server's Close frame comes after the client's.
    @Test(arguments: ["1000", "1001", "none"])
    func anAnswerToItsCloseFrameIsAGoodEnd(code: String) async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("x\n", ["\(server.url)/answer/\(code)"])
        #expect(report.values("ok", "error", "close.code") == [true, .null, .integer(Int(code) ?? 1005)])
    }

    @Test func anAnswerWithAnotherCodeIsAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("x\n", ["\(server.url)/answer/1008"], status: 1)
        #expect(report.values("ok", "error.kind", "close.code") == [false, "websocket", 1008])
    }

    @Test(arguments: ["garbled", "ended"])
    func noProperAnswerIsAFailure(path: String) async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("x\n", ["\(server.url)/\(path)"], status: 1)
        #expect(report.values("ok", "error.kind") == [false, "websocket"])
    }

    @Test func aBrokenFrameIsAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("", ["\(server.url)/masked", "--limit", "1"], status: 1)
        #expect(report["error"]["kind"] == "websocket")
    }

    @Test func aCutConnectionIsAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("", ["\(server.url)/cut", "--limit", "1"], status: 1)
        #expect(report.values("error.kind", "close.code", "close.clean") == ["websocket", 1006, false])
    }

    @Test func aRefusalIsAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("", ["\(server.url)/deny"], status: 1)
        #expect(report.values("error.kind", "status") == ["unacceptable_status", 403])
        #expect(report["url"] == .string("\(server.url)/deny"))
    }

    @Test func aDeadlineEndsTheConversation() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport(.nothing, ["\(server.url)/echo", "--echo", "--deadline", "0.3"], status: 1)
        #expect(report["error"]["kind"] == "timeout_deadline")
    }

    /// Nothing reads the messages before the server has received the Close frame.
    @Test func droppedMessagesAreAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await shell(
            #"""
            "$trellis" ws "$1" </dev/null | {
                until [ -e "$2" ]; do sleep 0.05; done
                cat >/dev/null
            }
            exit "${PIPESTATUS[0]}"
            """#, ["\(server.url)/flood?dropped", server.folder["dropped.flooded"]])
        #expect(run.errors.lines(with: "messages were dropped").count == 1)
        #expect(run.status == 1)
    }

    // MARK: Ctrl-C

    @Test func controlCCloses() async throws {
        let server = try await WebSocketServer.shared.value
        let talk = try await startInTurn(["ws", "\(server.url)/noted?closes"], input: .open)
        talk.write("before\n")
        try await talk.prints("before\n")
        talk.interrupt()
        let run = try await talk.ended()
        #expect(run.status == 130)
        #expect(run.text == "before\n")
        try await wait { server.folder.has("closes.code") }
        #expect(try server.folder.text(of: "closes.code") == "1000")
    }

    @Test func controlCEndsAlsoIfTheServerDoesNotAnswer() async throws {
        let server = try await WebSocketServer.shared.value
        let talk = try await startInTurn(["ws", "\(server.url)/deaf?deaf"], input: .open)
        talk.write("before\n")
        try await talk.prints("before\n")
        talk.interrupt()
        let run = try await talk.ended()
        #expect(run.status == 130)
        #expect(run.errors.lines(with: "has not completed the closing handshake").count == 1, "\(run.errors)")
        try await wait { server.folder.has("deaf.code") }
        #expect(try server.folder.text(of: "deaf.code") == "1000")
    }

    @Test func controlCEndsTheHandshake() async throws {
        let server = try await WebSocketServer.shared.value
        let talk = try await startInTurn(["ws", "\(server.url)/silent?silent", "--report", "json"], input: .open)
        try await wait { server.folder.has("silent.asked") }
        talk.interrupt()
        let run = try await talk.ended()
        #expect(run.status == 130)
        #expect(
            run.report.values("ok", "error.kind", "error.message") == [false, "cancelled", "the request was cancelled"])
        #expect(run.report["metrics"]["total_s"].double > 0)
    }

    // MARK: On a terminal

    @Test func controlDOnATerminalEndsTheInput() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await python("ws_terminal.py", ["D", Programs.trellis, "ws", "\(server.url)/echo"])
        #expect(run.report == ["status": 0, "lines": ["one", "zwei ü"]])
    }

    @Test func controlCOnATerminalCloses() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await python("ws_terminal.py", ["C", Programs.trellis, "ws", "\(server.url)/noted?terminal"])
        #expect(run.report == ["status": 130, "lines": ["one", "zwei ü"]])
        try await wait { server.folder.has("terminal.code") }
        #expect(try server.folder.text(of: "terminal.code") == "1000")
    }
}
