import Foundation
import Testing

/// Tinyproxy and Squid, which ask for a name and a password. What the client sends to them is kept.
@Suite(.enabled(if: Programs.has("tinyproxy") && Programs.has("squid")), .timeLimit(.minutes(60)))
struct RealProxyTests {
    /// A proxy, with a process of its own that starts it and keeps what it is sent.
    enum Product: String, CaseIterable, CustomTestStringConvertible {
        case tinyproxy, squid

        private static let tinyproxies = Task { try await Server.python(script, ["tinyproxy"]) }
        private static let squids = Task { try await Server.python(script, ["squid"]) }
        private static let script = "\(Programs.sharedPeers)/real_proxies.py"

        var server: Server {
            get async throws { try await self == .tinyproxy ? Self.tinyproxies.value : Self.squids.value }
        }

        /// The address at which what clients send is kept.
        var address: String {
            get async throws { "127.0.0.1:\(try await server.json["ports"]["\(rawValue)-recorded"])" }
        }

        var testDescription: String { rawValue }
    }

    private static let peers = Task { try await Server.python("\(Programs.sharedPeers)/https_proxy.py") }
    private let credentials = "zelda:pr0xySecret"

    @Test(arguments: Product.allCases) func aRequestGoesThroughTheProxy(product: Product) async throws {
        let proxy = try await product.address
        let run = try await report(["\(url)/", "--proxy", "http://\(credentials)@\(proxy)"])
        #expect(run.report.values("status", "proxy") == [200, "http://\(proxy)"])
        #expect(run.bodyText == "hello world")
    }

    @Test(arguments: Product.allCases) func theServerSeesTheProxyAndNotItsPassword(product: Product) async throws {
        let run = try await client(["\(url)/request", "--proxy", "http://\(credentials)@\(try await product.address)"])
        let lines = run.lines.map { $0.lowercased() }
        #expect(lines.starting(with: "via: ").filter { $0.contains(product.rawValue) }.count == 1, "\(run.text)")
        #expect(lines.starting(with: "proxy-auth") == [])
        #expect(!run.text.contains("ZWNyZXQ="), "the end of the encoded password")
    }

    @Test(arguments: Product.allCases)
    func aTunnelGivesTheProxyItsOwnPasswordAndNotTheServers(product: Product) async throws {
        let (peers, proxy) = (try await SecureProxies(Self.peers.value), try await product.address)
        let run = try await report(
            ["https://\(peers["server"])/", "-H", "Authorization: Bearer s3rverSecret"] + peers.trust
                + ["--proxy", "http://\(credentials)@\(proxy)"])
        #expect(run.report.values("status", "proxy") == [200, "http://\(proxy)"])
        #expect(run.bodyText == "server -")

        // No other test asks this process.
        let answer = try await product.server.ask("sent \(product.rawValue)")
        let sent = try JSON(parsing: Data(answer.utf8))["text"].text
        let own = "Proxy-Authorization: Basic \(Data(credentials.utf8).base64EncodedString())"
        let tunnels = sent.components(separatedBy: "\r\n\r\n")
            .filter { $0.contains("CONNECT \(peers["server"]) ") }
        #expect(tunnels.contains { $0.contains(own) }, "\(tunnels)")
        #expect(!sent.contains("s3rverSecret"))
    }

    /// Squid keeps one password for a name: a wrong one for zelda would refuse a request of another test.
    @Test(arguments: Product.allCases) func aWrongPasswordIsAFailureThatDoesNotShowIt(product: Product) async throws {
        let (peers, proxy) = (try await SecureProxies(Self.peers.value), try await product.address)
        let run = try await report(
            ["https://\(peers["server"])/"] + peers.trust + ["--proxy", "http://ganon:wr0ngSecret@\(proxy)"], status: 1)
        #expect(
            run.report.values("error.kind", "error.retryable", "proxy") == ["proxy", false, "http://\(proxy)"])
        #expect(!run.text.contains("wr0ngSecret") && !run.errors.contains("wr0ngSecret"))
    }

    @Test(arguments: Product.allCases) func theCurlCommandNamesTheProxyWithoutItsPassword(product: Product) async throws
    {
        let (peers, proxy) = (try await SecureProxies(Self.peers.value), try await product.address)
        let run = try await client(
            ["--curl", "https://\(peers["server"])/", "--proxy", "http://\(credentials)@\(proxy)"])
        #expect(run.lines.filter { $0.contains("--proxy ") && $0.contains(proxy) }.count == 1, "\(run.text)")
        #expect(!run.text.contains("pr0xySecret") && !run.text.contains("zelda"))
    }
}
