import CurlEngine
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Refusals that the credential of an interceptor has nothing to do with.
@Suite(.timeLimit(.minutes(3)))
struct ForeignRefusalTests {
    /// An authenticator that leaves requests to other hosts alone.
    private final class OwnHost: Authenticator {
        private let count = Locked(0)

        var refreshes: Int { count.withLock { $0 } }

        func apply(_ credential: Token, to request: inout Request) {
            guard request.url.hasPrefix("http://a.example/") else { return }
            request = request.withAuthorization(bearerToken: credential.text)
        }

        func refresh(_ credential: Token, using session: RefreshSession) async throws -> Token {
            count.withLock { $0 += 1 }
            return Token("new")
        }
    }

    private let authenticator = OwnHost()
    private let transport = MockTransport { request in
        if request.url == "http://a.example/away" {
            return MockResponse(status: 307, headers: [.location: "http://b.example/"])
        }
        return request.request.headers[.authorization] == "Bearer new" ? .text("yes") : MockResponse(status: 401)
    }

    private func status(
        _ request: Request, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> Int {
        var configuration = SessionConfiguration()
        configuration.steps.intercept(
            with: AuthenticationInterceptor(authenticator: authenticator, credential: Token("old")))
        change(&configuration)
        return try await Session(configuration: configuration, transport: transport).data(request).1.status.code
    }

    @Test func aRequestWithoutTheCredentialIsNeitherRefreshedNorRepeated() async throws {
        #expect(try await status(Request("http://b.example/", method: .post, body: .string("x"))) == 401)
        #expect(authenticator.refreshes == 0)
        #expect(transport.startedCount == 1)
    }

    @Test func aRefusalByAnotherOriginBehindARedirectIsTheResponse() async throws {
        #expect(try await status(Request("http://a.example/away")) == 401)
        #expect(authenticator.refreshes == 0)
        #expect(transport.requests.map(\.url) == ["http://a.example/away", "http://b.example/"])
    }

    /// An adapter after the interceptor may ask another service, whose refusal says nothing about the credential.
    @Test func aRefusalByTheServiceOfAnAdapterIsItsError() async throws {
        let service = MockTransport { _ in MockResponse(status: 401) }
        let keys = Session(transport: service)
        let error = await #expect(throws: TrellisError.self) {
            try await status(Request("http://a.example/")) {
                $0.steps.adapters.append(
                    Adapter { request, _ in request.withHeader(.from, try await keys.string("http://keys.example/")) })
            }
        }
        #expect(error?.kind == .unacceptableStatus && error?.url == "http://keys.example/")
        #expect(error?.metrics.callID == error?.response?.metrics.callID)
        #expect(authenticator.refreshes == 0)
        // Another attempt would ask the service again, and have the same answer.
        #expect(service.startedCount == 1 && transport.startedCount == 0)
    }

    @Test func aRequestThatHasTheCredentialAlreadyIsRenewed() async throws {
        #expect(try await status(Request("http://a.example/").withAuthorization(bearerToken: "old")) == 200)
        #expect(authenticator.refreshes == 1)
        #expect(transport.startedCount == 2)
    }
}
