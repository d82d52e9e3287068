import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore
import TrellisTesting

@testable import TrellisOAuth

/// A server that the API names (RFC 9728), and what a hostile API, or a hostile server, could name.
@Suite(.timeLimit(.minutes(3)))
struct ProtectedResourceTests {
    static let evil = "https://evil.example"

    /// A store in memory.
    private final class MemoryStore: OAuthTokenStore {
        private let stored: Locked<OAuthToken?>

        init(_ token: OAuthToken?) { stored = Locked(token) }

        func token() async throws -> OAuthToken? { stored.withLock { $0 } }

        func update(_ change: @Sendable (inout OAuthToken?) async throws -> Void) async throws {
            var token = stored.withLock { $0 }
            try await change(&token)
            let new = token
            stored.withLock { $0 = new }
        }
    }

    /// Returns the metadata of the API with a server.
    private static func metadata(_ server: String) -> MockResponse {
        .json(#"{"resource": "\#(OAuthWorld.api)", "authorization_servers": ["\#(server)"]}"#)
    }

    /// Returns an API that names its server in its metadata, and another one in its challenges.
    private static func transport(_ server: OAuthTestServer, named: String = OAuthWorld.issuer) -> MockTransport {
        MockTransport { request in
            if let answer = server.response(to: request) { return answer }
            switch request.url {
            case "\(OAuthWorld.api)/.well-known/oauth-protected-resource": return metadata(named)
            case "\(evil)/resource": return metadata(evil)
            case "\(evil)/.well-known/oauth-authorization-server":
                return .json(#"{"issuer": "\#(evil)", "token_endpoint": "\#(evil)/token"}"#)
            case "\(evil)/token": return .json(#"{"access_token": "evil", "token_type": "bearer"}"#)
            default:
                guard !server.accepts(request["Authorization"]) else { return .text("hello") }
                return MockResponse(
                    status: 401, headers: ["WWW-Authenticate": #"Bearer resource_metadata="\#(evil)/resource""#])
            }
        }
    }

    private static func session(
        _ transport: MockTransport, _ grant: OAuthGrant, store: (any OAuthTokenStore)? = nil
    ) throws -> Session {
        var oauth = try OAuthAuthenticator(
            .protectedResource(OAuthWorld.api), client: OAuthClient(id: "app", secret: OAuthWorld.secret), grant: grant,
            origin: OAuthWorld.api)
        oauth.store = store
        var configuration = SessionConfiguration()
        configuration.authentication = .oauth(oauth)
        return Session(configuration: configuration, transport: transport)
    }

    private static func forms(_ transport: MockTransport, at origin: String) -> Int {
        transport.requests.count { $0.url == "\(origin)/token" }
    }

    @Test func aChallengeLeadsTheSecretsToNoOtherServer() async throws {
        let server = OAuthTestServer(OAuthWorld.issuer, clients: ["app": OAuthWorld.secret])
        let transport = Self.transport(server)
        let session = try Self.session(transport, .refreshToken(server.makeRefreshToken()))
        #expect(try await session.data("\(OAuthWorld.api)/").1.status.code == 200)
        server.expireAccessTokens()
        await #expect(throws: OAuthError.foreignMetadata(asked: OAuthWorld.issuer, found: Self.evil)) {
            try await session.data("\(OAuthWorld.api)/")
        }
        #expect(Self.forms(transport, at: OAuthWorld.issuer) == 1 && Self.forms(transport, at: Self.evil) == 0)
    }

    /// After a restart, only the token in the store knows its server.
    @Test func aStoredRefreshTokenGoesToNoOtherServer() async throws {
        let server = OAuthTestServer(OAuthWorld.issuer, clients: ["app": OAuthWorld.secret])
        let transport = Self.transport(server, named: Self.evil)
        let store = MemoryStore(
            OAuthToken("old", expiration: .distantPast, refreshToken: "r", issuer: OAuthWorld.issuer))
        let session = try Self.session(transport, .refreshToken(), store: store)
        await #expect(throws: OAuthError.missingRefreshToken) { try await session.data("\(OAuthWorld.api)/") }
        #expect(Self.forms(transport, at: Self.evil) == 0)
    }

    @Test(arguments: [
        ("https://a.example", "http://127.0.0.1:1/t", false), ("https://a.example", "https://b.example/t", true),
        ("http://localhost:1", "http://localhost:1/t", true), ("http://localhost:1", "http://a.example/t", false),
    ])
    func onlyThisMachineNamesAPortWithoutTLS(_ issuer: String, _ url: String, _ isAllowed: Bool) throws {
        let json = #"{"issuer": "\#(issuer)", "token_endpoint": "\#(url)"}"#
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
        let found = Result { try DiscoveredEndpoints.endpoints(value, of: issuer) }
        #expect((try? found.get())?.token == (isAllowed ? url : nil))
    }
}
