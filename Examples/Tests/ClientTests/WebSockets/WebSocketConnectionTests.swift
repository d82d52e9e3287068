import Testing

/// The connection of `trellis ws`: trust, routes, proxies and the fields of the handshake.
@Suite(.timeLimit(.minutes(60))) struct WebSocketConnectionTests {
    private static let other = "sha256//\(WebSocketServer.otherPin)"

    @Test func aServerMustBeTrusted() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport("x\n", ["\(server.secure)/echo", "--limit", "1"], status: 1)
        #expect(report["error"]["kind"] == "untrusted")
    }

    @Test func anOptionMakesTheServerTrusted() async throws {
        let server = try await WebSocketServer.shared.value
        let pin = "sha256//\(server.pin)"
        for options in [
            ["--cacert", server.certificate], ["--insecure"], ["--insecure", "--tlsv1.3"],
            ["--cacert", server.certificate, "--pin", pin], ["--insecure", "--pin", pin],
        ] {
            let run = try await talk("x\n", ["\(server.secure)/echo", "--limit", "1"] + options)
            #expect(run.text == "x\n" && run.status == 0, "\(options): \(run.errors)")
        }
    }

    @Test func aWrongPinIsAFailure() async throws {
        let server = try await WebSocketServer.shared.value
        let report = try await talkReport(
            "x\n",
            ["\(server.secure)/echo", "--limit", "1", "--cacert", server.certificate, "--pin", Self.other], status: 1)
        #expect(report["error"]["kind"] == "pin_mismatch")
    }

    @Test func certificatesAreShown() async throws {
        let server = try await WebSocketServer.shared.value
        let options = ["--limit", "1", "--cacert", server.certificate, "--show-certificates"]
        let run = try await talk("x\n", ["\(server.secure)/echo"] + options)
        #expect(run.text == "x\n" && run.status == 0)
        #expect(run.errors.lines.filter { $0 == "0  subject  CN=talker" }.count == 1)
        #expect(run.errors.lines(with: "pin      sha256/\(server.pin)").count == 1)
    }

    @Test func certificatesOfAServerThatIsNotTrustedAreShown() async throws {
        let server = try await WebSocketServer.shared.value
        let run = try await talk("", ["\(server.secure)/echo", "--show-certificates"])
        #expect(run.status == 1)
        let end = "(NOT TRUSTED; as the server has sent them):"
        #expect(run.errors.lines.filter { $0.hasSuffix(end) }.count == 1)
    }

    @Test func strictTransportSecurityIsKeptAndUsed() async throws {
        let server = try await WebSocketServer.shared.value
        let folder = try TemporaryFolder()
        let options = ["--limit", "1", "--cacert", server.certificate, "--hsts", folder["hsts"], "-4"]
        let first = try await talk("x\n", ["wss://localhost:\(server.securePort)/echo"] + options, in: folder)
        #expect(first.text == "x\n" && first.status == 0)
        #expect(try folder.text(of: "hsts").lines.starting(with: #"localhost "2"#).count == 1)
        let second = try await talk("x\n", ["ws://localhost:\(server.securePort)/echo"] + options, in: folder)
        #expect(second.text == "x\n" && second.status == 0, "ws becomes wss: \(second.errors)")
    }

    @Test func aFileOfAnotherKindIsNotOverwritten() async throws {
        let server = try await WebSocketServer.shared.value
        let folder = try TemporaryFolder()
        let path = try folder.write("something else\n", to: "hsts")
        let report = try await talkReport("x\n", ["\(server.url)/echo", "--limit", "1", "--hsts", path], status: 1)
        #expect(report["error"]["kind"] == "file")
        #expect(try folder.text(of: "hsts") == "something else\n")
    }

    @Test func aRouteLeadsToTheServer() async throws {
        let server = try await WebSocketServer.shared.value
        let far = "far.invalid:\(server.port)"
        for options in [
            ["--resolve", "\(far):127.0.0.1"], ["--connect-to", "\(far):127.0.0.1:\(server.port)"],
            ["--unix-socket", server.socket],
        ] {
            let run = try await talk("x\n", ["ws://\(far)/echo", "--limit", "1"] + options)
            #expect(run.text == "x\n" && run.status == 0, "\(options): \(run.errors)")
        }
    }

    @Test func theInterfaceAndTheFamilyOfAddressesCanBeChosen() async throws {
        let server = try await WebSocketServer.shared.value
        let arguments = ["\(server.url)/echo", "--limit", "1"]
        let run = try await talk("x\n", arguments + ["--interface", "127.0.0.1", "-4"])
        #expect(run.text == "x\n" && run.status == 0)
        let report = try await talkReport("x\n", arguments + ["-6"], status: 1)
        #expect(report["ok"] == false)
    }

    @Test func aProxyIsUsed() async throws {
        let server = try await WebSocketServer.shared.value
        let arguments = ["\(server.url)/echo", "--limit", "1", "--proxy", "http://127.0.0.1:1"]
        let report = try await talkReport("x\n", arguments, status: 1)
        #expect(report["error"]["kind"] == "proxy")
        let run = try await talk("x\n", arguments + ["--no-proxy", "127.0.0.1"])
        #expect(run.text == "x\n" && run.status == 0)
    }

    @Test func fieldsAreSent() async throws {
        let server = try await WebSocketServer.shared.value
        let fields = ["-H", "X-Test: one", "--header", "X-Other:  two "]
        let run = try await talk("", ["\(server.url)/fields", "--limit", "1"] + fields)
        #expect(run.text == "one two\n" && run.status == 0)
    }

    // MARK: Wrong usage

    @Test func aURLIsNeeded() async throws { try await expectUsageError(["ws"]) }

    @Test(arguments: [
        ["--text", "--binary"], ["--json", "x"], ["--limit", "0"], ["-H", "No colon"], ["--ping", "1e300"],
        ["--ping", "-1"], ["--deadline", "1e300"], ["--deadline", "0"], ["--max-message", "0"],
        ["--pin", "sha256//AAAA"], ["--key", "a"], ["--resolve", "a:80"], ["--alt-svc", "a"],
    ])
    func optionsThatAreWrong(options: [String]) async throws {
        try await expectUsageError(["ws", "ws://127.0.0.1:1/echo"] + options)
    }

    @Test(arguments: [
        ("--pin goes with wss URLs", ["--pin", other]), ("--deadline must be more than 0", ["--deadline", "0"]),
        ("--ping cannot be negative", ["--ping", "-1"]), ("--proxy: ", ["--proxy", "ftp://x"]),
        ("See 'trellis ws --help'", ["--nope"]),
    ])
    func theReasonIsSaid(reason: String, options: [String]) async throws {
        try await expectUsageError(["ws", "ws://127.0.0.1:1/echo"] + options, saying: reason)
    }
}
