import CurlEngine
import Testing

@testable import TrellisCore

/// The URL of a SOCKS proxy at a Unix domain socket.
struct ProxySocketTests {
    private static let kinds = Proxy.Kind.allCases.filter(\.isSOCKS)

    @Test(arguments: kinds)
    func everyVersionCanBeAtASocket(_ kind: Proxy.Kind) throws {
        let proxy = try Proxy("\(kind.rawValue)://ada:x@localhost/run/a%20socket")
        #expect(proxy.kind == kind && proxy.url == "\(kind.rawValue)://localhost/run/a%20socket")
        let server = try #require(proxy.engine)
        #expect(server.isSocket && server.name == "/run/a socket" && server.host == "localhost")
        #expect(server.credentials?.username == "ada" && server.credentials?.password == "x")
        #expect(!"\(proxy)".contains("ada"))
    }

    /// Without a path, the proxy is at a port of this machine.
    @Test(arguments: kinds, ["", "/"])
    func withoutAPathItIsAtAPort(_ kind: Proxy.Kind, _ path: String) throws {
        let proxy = try Proxy("\(kind.rawValue)://localhost\(path)")
        #expect(proxy.engine?.isSocket == false && proxy.engine?.port == 1080)
        #expect(proxy.url == "\(kind.rawValue)://localhost:1080")
    }

    /// curl's name for SOCKS 4.
    @Test func theSchemeWithoutAVersion() throws {
        let proxy = try Proxy("socks://LOCALHOST/run/socks")
        #expect(proxy.kind == .socks4 && proxy.engine?.name == "/run/socks")
    }

    @Test(
        arguments: kinds, ["127.0.0.1/run/socks", "a.localhost/run/socks", "localhost/run/%00", "localhost/run?socks"])
    func noOtherPlaceIsASocket(_ kind: Proxy.Kind, _ rest: String) {
        let error = #expect(throws: TrellisError.self) { try Proxy("\(kind.rawValue)://\(rest)") }
        #expect(error?.kind == .invalidURL, "\(error as Any)")
    }

    /// The system has room for 107 bytes.
    @Test(arguments: kinds, [107, 108])
    func thePathHasALimit(_ kind: Proxy.Kind, _ count: Int) throws {
        let path = "/" + String(repeating: "a", count: count - 1)
        let text = "\(kind.rawValue)://localhost\(path)"
        if count == 107 {
            #expect(try Proxy(text).engine?.name == path)
        } else {
            let error = #expect(throws: TrellisError.self) { try Proxy(text) }
            #expect(error?.description.contains("longer than 107 bytes") == true)
        }
    }
}
