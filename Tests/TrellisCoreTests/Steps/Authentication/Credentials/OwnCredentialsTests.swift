import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Requests with a name and a password of their own, in sessions that have credentials for all requests.
@Suite(.timeLimit(.minutes(3)))
struct OwnCredentialsTests {
    /// A way in which a session adds credentials to its requests.
    enum SessionCredentials: CaseIterable, Sendable {
        case basic, bearer, netrc, origins, token, digest, password

        func add(to steps: inout Steps) throws {
            switch self {
            case .basic: steps.adapters.append(BasicAuthentication(username: "bob", password: "other"))
            case .bearer: steps.adapters.append(BearerAuthentication(token: "t"))
            case .netrc: steps.adapters.append(try Netrc(parsing: "default login bob password other"))
            case .origins:
                var credentials = OriginCredentials()
                try credentials.set(.bearer("t"), for: "http://a.example")
                steps.adapters.append(credentials)
            case .token:
                steps.intercept(
                    with: AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: Token("old")))
            case .digest: steps.network.append(DigestAuthentication(username: "bob", password: "other"))
            case .password: steps.network.append(PasswordAuthentication(username: "bob", password: "other"))
            }
        }
    }

    static let digest = #"Digest realm="r", nonce="n", qop="auth""#

    /// The server accepts the digest of the request's own user alone.
    @Test(arguments: SessionCredentials.allCases)
    func theRequestsOwnNameAndPasswordTakePrecedence(_ credentials: SessionCredentials) async throws {
        let transport = MockTransport { request in
            let field = request.request.headers[.authorization] ?? ""
            return field.contains(#"username="ada""#)
                ? .text("yes") : MockResponse(status: 401, headers: [.wwwAuthenticate: Self.digest])
        }
        var configuration = SessionConfiguration()
        try credentials.add(to: &configuration.steps)
        let session = Session(configuration: configuration, transport: transport)
        // A request of the session gets the session's credentials; a step then knows the challenge of the server.
        _ = try await session.data("http://a.example/")
        #expect(transport.requests.last?.request.headers[.authorization]?.isEmpty == false)
        let count = transport.startedCount
        let request = Request("http://a.example/").respondingToChallenges(username: "ada", password: "secret")
        #expect(try await session.data(request).1.status == .ok)
        let hasField = transport.requests.dropFirst(count).map { $0.request.headers[.authorization] != nil }
        #expect(hasField == [false, true])
    }
}
