import Foundation
import Testing

/// Where the addresses of a host come from, and from where the client connects.
@Suite(.timeLimit(.minutes(60))) struct NameTests {
    static let port = url.split(separator: ":").last ?? ""

    @Test(arguments: [
        ["http://far.invalid:\(port)/", "--resolve", "far.invalid:\(port):127.0.0.1"],
        ["http://far.invalid:\(port)/", "--resolve", "*:*:127.0.0.9,127.0.0.1", "-4"],
        ["http://far.invalid/", "--connect-to", "far.invalid:80:127.0.0.1:\(port)"],
        ["http://far.invalid:\(port)/", "--doh", "\(url)/dns-query"],
    ])
    func theAddressOfAHostIsGiven(_ arguments: [String]) async throws {
        let run = try await client(arguments)
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    @Test func theAddressOfAHostIsOfIPv6() async throws {
        let port = Fixture.six.line.split(separator: ":").last ?? ""
        let run = try await client(["http://far.invalid:\(port)/", "--resolve", "*:*:127.0.0.9,::1", "-6"])
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    @Test(arguments: [[], ["--egress-allow", "127.0.0.2"]]) func thePublicInternetHasNoLoopback(_ more: [String])
        async throws
    {
        let run = try await client([url, "--egress", "public", "--report", "json"] + more)
        #expect(run.report["error"]["kind"] == "egress_refused" && run.status == ExitStatus.of("egress_refused"))
        #expect(run.report["error"]["message"].text.contains("127.0.0.0/8") == true)
    }

    @Test func aNetworkIsAllowedToo() async throws {
        let run = try await client([url, "--egress", "public", "--egress-allow", "127.0.0.0/29"])
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    /// The DNS server's own name is known from `--resolve`, and it answers only that address of the client.
    @Test func aDNSServerHasAnAddressAndSeesTheClientsOwn() async throws {
        let dns = "dns.invalid:\(try await Secure.port("dns"))"
        let run = try await client([
            "http://far.invalid:\(Self.port)/", "--doh", "https://\(dns)/dns-query", "--cacert",
            try await Secure.file("dns.pem"), "--resolve", "\(dns):127.0.0.1", "--interface", "127.0.0.2", "-4",
        ])
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    /// The request needs no proxy, so that its name is looked up here.
    @Test(arguments: [[], ["ws"]]) func aDNSServerIsAskedThroughTheProxy(_ command: [String]) async throws {
        let arguments = [
            "\(command.isEmpty ? "http" : "ws")://far.invalid:\(Self.port)/", "--doh", "\(url)/dns-query", "--proxy",
            "127.0.0.1:1", "--no-proxy", "far.invalid",
        ]
        let run = try await client(command + arguments + ["--report", "json"])
        #expect(run.report["error"]["kind"] == "dns" && run.status == (command == [] ? 6 : 1))
        let direct = try await client(command + arguments.dropLast() + ["*", "--report", "json"])
        #expect(direct.report["status"] == 200)
    }

    @Test(.enabled(if: Programs.has("microsocks"))) func theProxyLeadsToADNSServer() async throws {
        let proxy = "socks5://ada:s3cret@127.0.0.1:\(try await SOCKSTests.proxy.value.line)"
        let run = try await client(["http://far.invalid:\(Self.port)/", "--doh", "\(url)/dns-query", "--proxy", proxy])
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    /// The server would know the name.
    @Test(arguments: [("far.invalid", ["--doh-except", "invalid"]), ("no-such-name.internal", [])])
    func aDNSServerIsNotAskedForALocalName(_ host: String, _ options: [String]) async throws {
        let arguments = ["http://\(host):\(Self.port)/", "--doh", "\(url)/dns-query"] + options
        let run = try await client(arguments + ["--report", "json"])
        #expect(run.report["error"]["kind"] == "dns" && run.status == 6, "\(run.errors)")
    }

    @Test func aDNSServerThatIsNone() async throws {
        let run = try await report(["http://far.invalid:\(Self.port)/", "--doh", "\(url)/echo"], status: 1)
        #expect(run.report["error"]["kind"] == "dns")
    }

    @Test func anAddressOfTheOtherVersion() async throws {
        let run = try await report(["\(url)/", "-6"], status: 1)
        #expect(run.report["error"]["kind"] == "invalid_request")
    }

    @Test(arguments: [["--interface", "127.0.0.2", "--ipv4"], ["--interface", "lo"]])
    func theClientConnectsFromAnInterface(_ options: [String]) async throws {
        let run = try await client(["\(url)/"] + options)
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    @Test func anInterfaceThatIsNotThere() async throws {
        let run = try await report(["\(url)/", "--interface", "nosuch"], status: 1)
        #expect(run.report.values("error.kind", "error.retryable") == ["connect", false])
        #expect(run.errors.lines(with: "no connection can be made from nosuch: ").count == 1)
    }

    @Test func theServerListensOnAnAbstractUnixSocket() async throws {
        // The server starts with this.
        #expect(Fixture.abstract.line != "")
        let run = try await client(["http://localhost/", "--abstract-unix-socket", Fixture.abstractName])
        #expect(run.text == "hello world" && run.status == 0, "\(run.errors)")
    }

    @Test func anAbstractUnixSocketThatIsNotThere() async throws {
        let name = "trellis-none-\(getpid())"
        let run = try await report(["http://localhost/", "--abstract-unix-socket", name], status: 1)
        #expect(run.report["error"]["kind"] == "connect")
    }

    @Test func theCurlCommandHasTheSameOptions() async throws {
        let run = try await client([
            "http://far.invalid/a", "--curl", "-4", "--interface", "lo", "--connect-to", ":80:b:", "--resolve",
            "*:*:::1", "--doh", "https://127.0.0.1/q",
        ])
        let wanted = [
            "--ipv4", "--interface lo", "--connect-to :80:b:", "--resolve '*:80:[::1]'",
            "--doh-url https://127.0.0.1/q",
        ]
        for option in wanted { #expect(run.text.lines(with: option).count == 1, "\(option)") }
    }

    @Test(arguments: [
        (["--resolve", "a:80"], "'a:80' does not have the form HOST:PORT:ADDRESS"),
        (["--resolve", "a:80:b"], "'b' is not an IP address"),
        (["--resolve", "a:0:127.0.0.1"], "0 is not a port"),
        (["--connect-to", "a:80:b"], "'a:80:b' does not have the form HOST:PORT:HOST:PORT"),
        (["--connect-to", "a:80:b:x"], "'x' is not a port"),
        (["--doh", "dns.example"], "it is not that of a DNS server: it is not an absolute https URL"),
        (["--doh", "https://dns.example/", "--doh-except", ".corp"], "is not a pattern of hosts"),
        (["--doh-except", "corp.example"], "--doh-except needs --doh."),
        (["--interface", "eth 0"], "no network interface can have the name 'eth 0'"),
    ])
    func aMalformedValueIsAUsageErrorWithAReason(_ options: [String], _ reason: String) async throws {
        try await expectUsageError(["\(url)/"] + options, saying: reason)
    }

    @Test(arguments: [
        ["-4", "-6"], ["--connect-to", "a:80"], ["--interface", "a b"], ["--doh", "http://dns.example/"],
        ["--egress", "private"], ["--egress-allow", "10.0.0.0/8"], ["--egress", "public", "--egress-allow", "x"],
        ["--unix-socket", "a", "--abstract-unix-socket", "b"], ["--abstract-unix-socket", ""],
    ])
    func anotherMalformedValueAndAContradictionAreUsageErrors(_ options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }
}
