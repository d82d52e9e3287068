import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Retries behind redirects: a retry starts at the hop that failed, and hops with a response are not repeated.
@Suite(.timeLimit(.minutes(3)))
struct RedirectedRetryTests {
    /// Returns a site that answers `/form` with a redirect, and `/result` the first time with a failure.
    private static func site(
        _ status: Int, location: String = "/result", failure: @escaping MockRoute.Responder
    ) -> MockRouter {
        let router = MockRouter()
        router.route(nil, "/form").respond(with: MockResponse(status: status, headers: [.location: location]))
        router.route(nil, "/result").then(failure).thenAlways(.text("done"))
        return router
    }

    private static func lines(_ router: MockRouter) -> [String] {
        router.requests.map { "\($0.method.rawValue) \($0.url)" }
    }

    private static func postCount(_ router: MockRouter) -> Int { router.requests.count { $0.method == .post } }

    private static let once = Retrier { _, context in context.attempt < 3 ? .retry : .doNotRetry }

    private func session(
        _ transport: MockRouter, _ change: (inout Steps) -> Void = { $0.retriers = [RetryPolicy(random: { 0 })] }
    ) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration.steps)
        return Session(configuration: configuration, transport: transport)
    }

    private let form = Request("http://a.example/form", method: .post, body: .string("a=1", contentType: "text/plain"))

    @Test(arguments: [301, 302, 303], [429, 503])
    func aGetBehindAPostIsRepeatedAlone(status: Int, failure: Int) async throws {
        let site = Self.site(status) { _ in MockResponse(status: failure) }
        let session = session(site)
        let (data, response) = try await session.data(form)
        #expect(String(decoding: data, as: UTF8.self) == "done")
        #expect(
            Self.lines(site) == [
                "POST http://a.example/form", "GET http://a.example/result", "GET http://a.example/result",
            ])
        #expect(response.redirects.map(\.to) == ["http://a.example/result"])
        #expect(response.metrics.attemptCount == 2)
    }

    @Test func aGetThatIsCutOffBehindAPostIsRepeatedAlone() async throws {
        let site = Self.site(303) { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }
        let session = session(site)
        _ = try await session.data(form)
        #expect(Self.postCount(site) == 1)
        #expect(site.requests.count == 3)
    }

    @Test func aStreamIsRepeatedAtItsHopToo() async throws {
        let site = Self.site(303) { _ in MockResponse(status: 503) }
        let session = session(site)
        let stream = try await session.stream(form)
        #expect(stream.response.status == .ok)
        #expect(Self.postCount(site) == 1)
    }

    @Test func aBodyThatCannotBeMadeAgainDoesNotMatterBehindTheRedirectThatLeftIt() async throws {
        let site = Self.site(303) { _ in MockResponse(status: 503) }
        let session = session(site)
        let chunks = AsyncStream<Data> {
            $0.yield(Data("a".utf8)); $0.finish()
        }
        let (_, response) = try await session.upload(chunks, to: "http://a.example/form")
        #expect(response.status == .ok)
    }

    @Test func theNetworkIsWaitedForAtTheHopThatFailed() async throws {
        let site = Self.site(303) { _ in throw TransportFailure(.connectionFailed(.unreachable("no route"))) }
        let session = session(site) {
            $0.retriers = [OfflineRetrier(waitingForNetwork: { true })]
        }
        _ = try await session.data(form)
        #expect(Self.postCount(site) == 1)
    }

    @Test func aRenewedCredentialIsSentWhereTheOldOneWasRefused() async throws {
        let site = Self.site(303) { match in
            match.request.headers[.authorization] == "new" ? .text("done") : MockResponse(status: 401)
        }
        let session = session(site) { $0.intercept(with: Renewing()) }
        _ = try await session.data(form)
        #expect(site.requests.map(\.method) == [.post, .get, .get])
        #expect(site.requests.map { $0.headers[.authorization] } == ["old", "old", "new"])
    }

    @Test func adaptersDoNotRunAgainForAnotherOrigin() async throws {
        let site = Self.site(307, location: "http://b.example/result") { _ in MockResponse(status: 503) }
        let session = session(site) {
            $0.adapters.append(Adapter { request, _ in request.withHeader(.authorization(bearerToken: "secret")) })
            $0.retriers.append(Self.once)
        }
        _ = try await session.data(form)
        #expect(site.requests.map(\.url).suffix(2) == ["http://b.example/result", "http://b.example/result"])
        #expect(site.requests.map { $0.headers.contains(.authorization) } == [true, false, false])
    }

    /// The method of the request as it was sent is the adapter's, which runs again for the retry.
    @Test func theBodyStaysWhereAnAdapterHasChangedTheMethod() async throws {
        let site = Self.site(307) { _ in MockResponse(status: 503) }
        let session = session(site) {
            $0.adapters.append(
                Adapter { request, _ in
                    var request = request
                    if request.method == .patch { request.method = .post }
                    return request
                })
            $0.retriers.append(Self.once)
        }
        var request = form.withHeader(HTTPField(name: .idempotencyKey, value: "1"))
        request.method = .patch
        _ = try await session.data(request)
        #expect(Self.lines(site).map { $0.prefix(5) } == ["POST ", "POST ", "POST "])
        #expect(site.requests.map { $0.headers[.idempotencyKey] } == ["1", "1", "1"])
        #expect(site.requests.map { $0.headers[.contentType] } == Array(repeating: "text/plain", count: 3))
    }

    @Test func aPostWhoseRedirectIsRefusedIsNotRepeated() async throws {
        let site = Self.site(303) { _ in .text("done") }
        let session = session(site) {
            $0.redirects = RedirectPolicy(maximumRedirects: 0)
            $0.retriers = [Self.once]
        }
        let error = await #expect(throws: TrellisError.self) { try await session.data(form) }
        #expect(error?.kind == .tooManyRedirects)
        #expect(Self.lines(site) == ["POST http://a.example/form"])
        // With an idempotency key the request may be retried.
        _ = try? await session.data(form.withHeader(HTTPField(name: .idempotencyKey, value: "1")))
        #expect(site.requests.count == 4)
    }

    @Test func aHedgedGetBehindAPostIsRepeatedAlone() async throws {
        let site = Self.site(303) { _ in MockResponse(status: 503) }
        let session = session(site) {
            $0.hedging = HedgingPolicy(after: .seconds(60))
            $0.retriers = [Self.once]
        }
        _ = try await session.data(form)
        #expect(Self.postCount(site) == 1)
        #expect(site.requests.count == 3)
    }

    /// An interceptor that sends `old` until the server refuses it, and then `new`.
    private final class Renewing: RequestInterceptor {
        private let token = Locked("old")
        func adapt(_ request: Request, context: CallContext) async throws -> Request {
            request.withHeader(HTTPField(name: .authorization, value: token.withLock { $0 }))
        }
        func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
            guard attempt.response?.status == .unauthorized, context.attempt < 3 else { return .doNotRetry }
            token.withLock { $0 = "new" }
            return .retry
        }
    }
}
