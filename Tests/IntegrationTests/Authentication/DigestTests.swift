import Foundation
import Testing
import Trellis

/// Digest authentication satisfies a server that computes every value itself.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct DigestTests {
    private static let started = Peer.started("digest.py")

    /// The server's JSON response: the user, the nonce count, and the number of requests to the test's own path.
    struct Answer: Decodable, Equatable {
        let user: String
        let count: Int
        let requests: Int
    }

    private let peer: Peer
    private let session: Session

    init() async throws {
        peer = try await Self.started.value
        var configuration = SessionConfiguration()
        configuration.steps.network.append(
            DigestAuthentication(username: "J\u{e4}s\u{f8}n Doe", password: #"Secret, or "not"?"#))
        session = Session(configuration: configuration)
    }

    /// Sends a request in its own space of the server, so that tests do not affect each other.
    private func get(_ path: String, _ space: UUID, body: RequestBody? = nil) async throws -> Answer {
        let request = Request(try peer.url("http", "\(path)/\(space)?a=b&c=%20d", scheme: "http"), body: body)
        return try await session.request(body == nil ? request : request.withMethod(.post)).validate().decode(
            Answer.self)
    }

    static let algorithms = ["none", "MD5", "MD5-sess", "SHA-256", "SHA-256-sess", "SHA-512-256", "SHA-512-256-sess"]

    @Test(arguments: algorithms, ["auth", "auth-int", "auth-int,auth"])
    func everyAlgorithmAndProtection(_ algorithm: String, _ qop: String) async throws {
        for flags in ["plain", "userhash,next", "beside", "next"] {
            let space = UUID()
            let body = RequestBody.string("a body")
            #expect(try await get("/\(algorithm)/\(qop)/\(flags)", space).requests == 2)
            // The credentials are sent without a challenge.
            let second = try await get("/\(algorithm)/\(qop)/\(flags)", space, body: body)
            #expect(second.requests == 3)
            #expect(second.count == (flags.contains("next") ? 1 : 2))
        }
    }

    @Test(arguments: ["none", "MD5", "SHA-256"])
    func serversOfOldHaveNoProtection(_ algorithm: String) async throws {
        let space = UUID()
        #expect(try await get("/\(algorithm)/none/x", space).requests == 2)
        #expect(try await get("/\(algorithm)/none/x", space).requests == 3)
    }

    @Test(arguments: ["stale", "quiet"])
    func noncesThatGoOutOfDate(_ flag: String) async throws {
        let space = UUID()
        let counts = [1, 2, 1, 2, 1]
        for count in counts { #expect(try await get("/SHA-256/auth/\(flag)", space).count == count) }
        #expect(try await get("/SHA-256/auth/\(flag)", space).requests == 9)
    }

    @Test func aWrongPasswordIsRefused() async throws {
        var configuration = SessionConfiguration()
        configuration.steps.network.append(DigestAuthentication(username: "J\u{e4}s\u{f8}n Doe", password: "wrong"))
        let session = Session(configuration: configuration)
        let url = try peer.url("http", "/SHA-256/auth/x/\(UUID())", scheme: "http")
        #expect(try await session.data(url).1.status.code == 401)
    }
}
