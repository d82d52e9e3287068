import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls that fail with their refresh before their request is sent.
@Suite(.timeLimit(.minutes(3)))
struct RefreshFailureTests {
    /// An authenticator that decodes the token from the response of a server.
    private final class Decoding: Authenticator {
        private let count = Locked(0)

        var refreshes: Int { count.withLock { $0 } }

        func apply(_ credential: Token, to request: inout Request) {
            request = request.withAuthorization(bearerToken: credential.text)
        }

        func refresh(_ credential: Token, using session: RefreshSession) async throws -> Token {
            count.withLock { $0 += 1 }
            return Token(try await session.decode(String.self, from: "http://a.example/token"))
        }
    }

    /// The first retrier is asked before the interceptor, and asks for another attempt.
    private static func session(
        _ transport: MockTransport, _ interceptor: AuthenticationInterceptor<Decoding>,
        _ first: any RequestRetrier = RetryPolicy(random: { 0 })
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.steps.retriers.append(first)
        configuration.steps.intercept(with: interceptor)
        return Session(configuration: configuration, transport: transport)
    }

    private let authenticator = Decoding()

    private var interceptor: AuthenticationInterceptor<Decoding> {
        AuthenticationInterceptor(authenticator: authenticator, credential: Token("old", requiresRefresh: true))
    }

    /// The refusal by the token's server is not that of the call's own request, and a retry begins no other refresh.
    @Test(arguments: [401, 503])
    func aFailedRefreshIsNotRepeatedByItsCalls(_ status: Int) async throws {
        let transport = MockTransport { _ in MockResponse(status: status) }
        let session = Self.session(transport, interceptor)
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/") }
        #expect(error?.response?.status.code == status)
        #expect(authenticator.refreshes == 1)
        #expect(transport.requests.map(\.url) == ["http://a.example/token"])
    }

    @Test func aCredentialThatIsSetAfterTheFailureIsUsed() async throws {
        let transport = MockTransport { request in
            request.request.headers[.authorization] == "Bearer set" ? .text("yes") : MockResponse(status: 401)
        }
        let interceptor = interceptor
        let setting = Retrier { _, context in
            interceptor.credential = Token("set")
            return context.attempt == 1 ? .retry : .doNotRetry
        }
        let (_, response) = try await Self.session(transport, interceptor, setting).data("http://a.example/")
        #expect(response.status == .ok)
        #expect(authenticator.refreshes == 1)
    }
}
