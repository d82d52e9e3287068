import Foundation
import Testing

/// The choice of a proxy, by `--proxy` and by the environment, and what is said about it. The proxy itself answers requests
/// with their target and their credentials.
@Suite(.timeLimit(.minutes(60))) struct ProxyTests {
    private static let server = Task { try await Server.python("http_proxy.py") }

    /// The address of the proxy.
    private var proxy: String { get async throws { try await Self.server.value.line } }

    private let far = "http://far.invalid/a"

    // MARK: The option

    @Test(arguments: ["http://", ""]) func theOptionNamesAProxyWithASchemeOrWithout(scheme: String) async throws {
        let run = try await client([far, "--proxy", "\(scheme)\(try await proxy)"])
        #expect(run.text == "\(far) -" && run.status == 0 && run.errors == "")
    }

    @Test func theProxyGetsTheCredentialsInItsURL() async throws {
        let run = try await client([far, "--proxy", "http://ada:s3%3Acret@\(try await proxy)"])
        #expect(run.text == "\(far) Basic \(Data("ada:s3:cret".utf8).base64EncodedString())")
    }

    @Test func anEmptyProxyIsNone() async throws {
        try await expectNoProxy(["--proxy", ""], ["http_proxy": try await proxy])
    }

    @Test func exceptionsApplyToTheProxyOfTheOption() async throws {
        try await expectNoProxy(["--proxy", try await proxy, "--no-proxy", "*"])
    }

    // MARK: The environment

    @Test(arguments: [("http_proxy", ""), ("all_proxy", "http://")])
    func aVariableNamesTheProxy(name: String, scheme: String) async throws {
        let run = try await client([far], environment: [name: "\(scheme)\(try await proxy)"])
        #expect(run.text == "\(far) -" && run.errors == "")
    }

    @Test func theVariableInCapitalsIsNotRead() async throws {
        try await expectNoProxy([], ["HTTP_PROXY": try await proxy])
    }

    @Test func aVariableNamesTheExceptions() async throws {
        try await expectNoProxy([], ["http_proxy": try await proxy, "no_proxy": ".invalid"])
    }

    @Test func theExceptionsOfTheOptionReplaceThoseOfTheVariable() async throws {
        let run = try await client(
            [far, "--no-proxy", "other.invalid"],
            environment: ["http_proxy": try await proxy, "no_proxy": ".invalid"])
        #expect(run.text == "\(far) -")
    }

    @Test func thisMachineIsReachedDirectly() async throws {
        let run = try await client(["\(url)/bytes/10"], environment: ["http_proxy": "127.0.0.1:1"])
        #expect(run.output.count == 10 && run.status == 0 && run.errors == "")
    }

    @Test func aVariableThatNamesNoProxyIsAFailure() async throws {
        let run = try await report(["http://far.invalid/"], status: 1, environment: ["http_proxy": "foo://x"])
        #expect(run.report["error"]["kind"] == "invalid_request")
    }

    // MARK: What is said about a proxy

    @Test func theReportNamesTheProxyWithoutItsCredentials() async throws {
        let proxy = try await proxy
        let run = try await report(["http://far.invalid/", "--proxy", "http://a:b@\(proxy)"])
        #expect(run.report.values("ok", "proxy") == [true, "http://\(proxy)"])
    }

    @Test func theReportOfARequestWithoutAProxyNamesNone() async throws {
        #expect(try await report(["\(url)/"]).report["proxy"] == .null)
    }

    @Test func aRefusedTunnelIsAFailureOfTheProxy() async throws {
        let proxy = try await proxy
        let run = try await report(["https://far.invalid/", "--proxy", proxy], status: 1)
        #expect(run.report.values("error.kind", "proxy") == ["proxy", "http://\(proxy)"])
    }

    @Test func aProxyThatIsGoneIsAFailureThatTellsWhereTheProxyWasNamed() async throws {
        let run = try await report(["https://far.invalid/", "--proxy", "socks5h://127.0.0.1:1"], status: 7)
        #expect(run.report["error"]["kind"] == "proxy")
        #expect(run.errors.lines.filter { $0.hasSuffix("(--proxy names it)") }.count == 1)

        let other = try await client(["http://far.invalid/"], environment: ["http_proxy": "127.0.0.1:1"])
        #expect(other.errors.lines(with: "(the environment names it: http_proxy, ").count == 1)
    }

    // MARK: Wrong values

    @Test(arguments: ["ftp://x", "http://", "http://a b", "http://x:99999", "socks6://x"])
    func aValueThatNamesNoProxyIsAUsageError(value: String) async throws {
        try await expectUsageError(["\(url)/", "--proxy", value])
    }

    @Test(arguments: ["ftp://ada:hunter2@h", "http://ada:hunter2 @h", "http://ada:hunter2@h:99999"])
    func theErrorAboutAValueDoesNotShowItsPassword(value: String) async throws {
        let run = try await client(["\(url)/", "--proxy", value])
        #expect(run.status == 64 && run.errors != "")
        #expect(!run.text.contains("hunter2") && !run.errors.contains("hunter2"))
    }

    /// Expects that a request with options is sent without a proxy, and that its host is therefore looked up, which fails.
    private func expectNoProxy(
        _ options: [String], _ environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let run = try await client([far] + options, environment: environment, sourceLocation: sourceLocation)
        #expect(
            run.errors.lines(with: "could not be resolved").count == 1, "\(run.text)\(run.errors)",
            sourceLocation: sourceLocation)
    }
}
