import CurlEngine
import Testing

@testable import TrellisCore

/// The bytes of paths, names and passwords decide, also where two texts are equal as `String`.
struct RouteSpellingTests {
    /// One letter with an accent, and a letter with an accent behind it.
    private static let spellings = ["caf\u{E9}", "cafe\u{301}"]

    private static func parts(of request: Request, _ table: RouteTable) throws -> TransferRoute.Parts {
        try table.route(to: WireURL(parsing: request.url), of: request).route.parts
    }

    @Test func aSocketIsNotTakenForAnother() throws {
        let sockets = try Self.spellings.map { try UnixSocket.path("/run/\($0)") }
        #expect(Self.spellings[0] == Self.spellings[1] && sockets[0] != sockets[1])
        let table = RouteTable(proxies: .direct, route: Route())
        var lengths: [Int?] = []
        for socket in sockets {
            var route = Route()
            route.unixSocket = socket
            let parts = try Self.parts(of: Request("http://a.example/").withRoute(route), table)
            lengths.append(parts.socket?.name.utf8.count)
        }
        #expect(lengths == [10, 11])
    }

    @Test func aPasswordIsNotTakenForAnother() throws {
        let proxies = try Self.spellings.map { try Proxy("http://proxy.example", username: "ada", password: $0) }
        #expect(proxies[0] != proxies[1])
        let table = RouteTable(proxies: .direct, route: Route())
        var lengths: [Int?] = []
        for proxy in proxies {
            let parts = try Self.parts(of: Request("http://a.example/").withProxy(.always(proxy)), table)
            lengths.append(parts.proxy?.credentials?.password.utf8.count)
        }
        #expect(lengths == [5, 6])
    }

    @Test func aFileIsNotTakenForAnother() {
        let paths = Self.spellings.map { "/etc/\($0).pem" }
        #expect(CertificateSource.path(paths[0]) != .path(paths[1]))
    }
}
