import Foundation
import Testing

/// Proxies for SOCKS 4 and 4a. The proxy itself answers with the version, the destination and the name of the user.
@Suite(.timeLimit(.minutes(60))) struct SOCKS4Tests {
    private static let server = Task { try await Server.python("socks4_proxy.py") }

    /// The address of the proxy.
    private var proxy: String { get async throws { try await Self.server.value.line } }

    @Test func version4aPassesTheNameOfTheHostOn() async throws {
        let proxy = try await proxy
        let run = try await report(["http://far.invalid:81/", "--proxy", "socks4a://\(proxy)"])
        #expect(run.report["proxy"] == "socks4a://\(proxy)")
        #expect(run.bodyText == "4a far.invalid:81 -")
    }

    @Test func version4aPassesTheNameOfTheUserOn() async throws {
        let run = try await report(["http://far.invalid/", "--proxy", "socks4a://ada@\(try await proxy)"])
        #expect(run.bodyText == "4a far.invalid:80 ada")
    }

    @Test func version4PassesAnAddressAndTheNameOfTheUserOn() async throws {
        let proxy = try await proxy
        let run = try await report(["http://192.0.2.7:81/", "--proxy", "socks4://ada@\(proxy)"])
        #expect(run.report["proxy"] == "socks4://\(proxy)")
        #expect(run.bodyText == "4 192.0.2.7:81 ada")
    }

    @Test func version4PassesAnAddressThatIsGivenForTheHostOn() async throws {
        let run = try await report([
            "http://far.invalid/", "--resolve", "far.invalid:80:192.0.2.8", "--proxy", "socks4://\(try await proxy)",
        ])
        #expect(run.bodyText == "4 192.0.2.8:80 -")
    }

    @Test func version4LooksTheHostUpHere() async throws {
        let run = try await report(["http://far.invalid/", "--proxy", "socks4://\(try await proxy)"], status: 1)
        #expect(run.report["error"]["kind"] == "dns")
    }

    @Test(arguments: ["socks4", "socks4a"]) func aRefusalIsAFailureOfTheProxy(scheme: String) async throws {
        let run = try await report(["http://192.0.2.7:9/", "--proxy", "\(scheme)://\(try await proxy)"], status: 1)
        #expect(run.report["error"]["kind"] == "proxy")
    }
}
