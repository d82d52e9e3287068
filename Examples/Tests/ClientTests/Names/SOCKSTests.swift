import Testing

/// microsocks, a SOCKS5 proxy with a name and a password.
@Suite(.timeLimit(.minutes(60)), .enabled(if: Programs.has("microsocks"))) struct SOCKSTests {
    static let proxy = Task { try await Server.python("microsocks.py") }

    @Test(arguments: ["socks5", "socks5h"])
    func aRequestGoesThroughTheProxy(_ scheme: String) async throws {
        let port = try await Self.proxy.value.line
        let run = try await report(["\(url)/", "--proxy", "\(scheme)://ada:s3cret@127.0.0.1:\(port)"])
        #expect(run.report.values("status", "proxy") == [200, "\(scheme)://127.0.0.1:\(port)"])
    }

    @Test func aWrongPassword() async throws {
        let proxy = "socks5://ada:wrong@127.0.0.1:\(try await Self.proxy.value.line)"
        let run = try await report(["\(url)/", "--proxy", proxy], status: 1)
        #expect(run.report["error"]["kind"] == "proxy")
    }
}
