import Foundation
import Testing

/// The messages of `trellis ws`: standard input, standard output and the report.
@Suite(.timeLimit(.minutes(60))) struct WebSocketMessageTests {
    @Test func eachLineIsAMessage() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await talk("one\ntwo\nthree", ["\(server.url)/echo"])
        #expect(run.text == "one\ntwo\nthree\n" && run.status == 0)
    }

    @Test func aLimitEndsAfterSoManyMessages() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await talk("one\r\ntwo\n", ["\(server.url)/echo", "--limit", "2"])
        #expect(run.output == Data("one\ntwo\n".utf8) && run.status == 0)
    }

    /// The input stays open, so that the server closes.
    @Test(arguments: [[], ["--report", "json"]]) func messagesBeyondTheLimitAreNotShown(_ options: [String])
        async throws
    {
        let server = try await WebSocketServer.shared.value
        let run = try await start(["ws", "\(server.url)/three", "--limit", "1"] + options, input: .open).ended()
        #expect(run.status == 0)
        if options.isEmpty {
            #expect(run.text == "first\n")
        } else {
            #expect(run.report.values("messages", "received") == [[["text": "first"]], 1])
        }
    }

    /// Messages may be on the way for longer than a moment when the input has ended.
    @Test func messagesOnTheWayAreReceivedAfterTheEndOfTheInput() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await talk("x\n", ["\(server.url)/late"])
        #expect(run.text == "x\nlate\n" && run.status == 0, "\(run.errors)")
    }

    @Test func bytesAreBase64() async throws {
        let server = try await WebSocketServer.shared.value
        let sent = try await talk("AP8=\n", ["\(server.url)/echo", "--binary", "--limit", "1"])
        #expect(sent.text == "AP8=\n" && sent.status == 0)
        let report = try await talkReport("AP8=\n", ["\(server.url)/echo", "--binary", "--limit", "1"])
        #expect(report["messages"] == [["base64": "AP8="]], "they are sent as bytes")
        for options in [[], ["--text"]] {
            let received = try await talk("", ["\(server.url)/bytes", "--limit", "1"] + options)
            #expect(received.text == "AP8=\n" && received.status == 0, "\(options)")
        }
    }

    @Test func textIsBase64AmongBytes() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await talk("", ["\(server.url)/ask", "--binary", "--limit", "1"])
        #expect(run.text == "YSBxdWVzdGlvbg==\n" && run.status == 0)
    }

    @Test func textIsUTF8() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await talk("héllo\n", ["\(server.url)/echo", "--text", "--limit", "1"])
        #expect(run.output == Data("héllo\n".utf8) && run.status == 0)
        let report = try await talkReport("héllo\n", ["\(server.url)/echo", "--text", "--limit", "1"])
        #expect(report["messages"] == [["text": "héllo"]])
    }

    @Test func aLineOfAnotherKindIsAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let encoded = try await talkReport("not base64!\n", ["\(server.url)/echo", "--binary"], status: 1)
        #expect(encoded["error"]["kind"] == "invalid_request")
        let text = try await talkReport(.bytes(Data([0xFF, 0x0A])), ["\(server.url)/echo", "--text"], status: 1)
        #expect(text.values("error.kind", "sent") == ["invalid_request", 0])
    }

    @Test func messagesAreSentBack() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("", ["\(server.url)/ask", "--echo"])
        #expect(report.values("close.reason", "ok", "sent") == ["a question", true, 1])
    }

    @Test func messagesCannotBeSentBackToAServerThatHasClosed() async throws {
        let server = try await WebSocketServer.shared.value
        let both = try await talkReport("", ["\(server.url)/both", "--echo"])
        #expect(both.values("close.code", "received", "sent") == [1000, 1, 0])
        let limited = try await talkReport("", ["\(server.url)/three", "--echo", "--limit", "1"])
        #expect(limited["received"] == 1, "a message that cannot be sent back counts")
    }

    @Test func aMessageIsAtMostAsLargeAsAllowed() async throws {
        let server = try await WebSocketServer.shared.value
        let arguments = ["\(server.url)/echo", "--limit", "1", "--max-message"]
        let run = try await talk("0123456789\n", arguments + ["10"])
        #expect(run.text == "0123456789\n" && run.status == 0)
        let report = try await talkReport("0123456789\n", arguments + ["9"], status: 1)
        #expect(report.values("error.kind", "received") == ["websocket", 0])
        #expect(report["error"]["message"].text.contains("9 bytes"))
    }

    @Test func theReportHasTheFactsOfTheConversation() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport(
            "x\n", ["\(server.url)/echo", "--subprotocol", "a", "--subprotocol", "b", "--limit", "1"])
        #expect(report.values("ok", "url", "status") == [true, .string("\(server.url)/echo"), 101])
        #expect(report.values("subprotocol", "sent", "received") == ["a", 1, 1])
    }

    @Test func pingsMeasureTheLatency() async throws {
        let server = try await WebSocketServer.shared.value
        let arguments = ["\(server.url)/pinged", "--ping", "0.02", "--limit", "1"]
        let run = try await talk("", arguments)
        #expect(run.text == "pinged\n" && run.status == 0)
        let report = try await talkReport("", arguments)
        #expect(report["latency_s"].double > 0)
        #expect(
            report.names == [
                "close", "error", "extensions", "latency_s", "messages", "metrics", "ok", "received", "sent", "status",
                "subprotocol", "url",
            ])
        let metrics = report["metrics"]
        #expect(
            metrics.names == [
                "alpn", "bytes_received", "bytes_sent", "connect_s", "dns_s", "first_byte_s", "queued_s",
                "reused_connection", "tls_cipher", "tls_s", "tls_version", "total_s",
            ])
        #expect(0 < metrics["first_byte_s"].double && metrics["first_byte_s"].double <= metrics["total_s"].double)
    }

    @Test func withoutAPingThereIsNoLatency() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("", ["\(server.url)/ask", "--limit", "1"])
        #expect(report["latency_s"] == .null)
    }

    @Test func messagesAreCompressedIfTheServerAgrees() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("x\n", ["\(server.url)/deflate", "--limit", "1"])
        #expect(report["extensions"] == "permessage-deflate; server_no_context_takeover")
        #expect(report["messages"] == [["text": "x"]])
        let plain = try await talkReport("x\n", ["\(server.url)/deflate", "--limit", "1", "--no-compression"])
        #expect(plain.values("extensions", "messages") == ["", [["text": "x"]]])
    }
}
