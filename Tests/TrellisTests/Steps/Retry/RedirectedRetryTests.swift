import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Retries behind redirects: a retry starts at the hop that failed, and hops with a response are not repeated.
@Suite(.timeLimit(.minutes(1)))
struct RedirectedRetryTests {
    /// A server that answers `/form` with a redirect, and `/result` the first time with a failure.
    private final class Site: Sendable {
        private let visits = Locked<[String]>([])
        let status: Int
        let failure: @Sendable (TransportRequest) throws -> MockResponse

        init(_ status: Int, failure: @escaping @Sendable (TransportRequest) throws -> MockResponse) {
            self.status = status
            self.failure = failure
        }

        var all: [String] { visits.withLock { $0 } }

        func answer(_ request: TransportRequest, location: String = "/result") throws -> MockResponse {
            let line = "\(request.request.method.rawValue) \(request.url)"
            let isFirst = visits.withLock { visits in
                defer { visits.append(line) }
                return !visits.contains(line)
            }
            if request.url.hasSuffix("/form") {
                return MockResponse(status: status, headers: [.location: location])
            }
            return isFirst ? try failure(request) : .text("done")
        }
    }

    private static let once = Retrier { _, context in context.attempt < 3 ? .retry : .doNotRetry }

    private func session(
        _ transport: MockTransport, _ change: (inout Steps) -> Void = { $0.retriers = [RetryPolicy(random: { 0 })] }
    ) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration.steps)
        return Session(configuration: configuration, transport: transport)
    }

    private let form = Request("http://a.example/form", method: .post, body: .string("a=1", contentType: "text/plain"))

    @Test(arguments: [301, 302, 303], [429, 503])
    func aGetBehindAPostIsRepeatedAlone(status: Int, failure: Int) async throws {
        let site = Site(status) { _ in MockResponse(status: failure) }
        let session = session(MockTransport { try site.answer($0) })
        let (data, response) = try await session.data(form)
        #expect(String(decoding: data, as: UTF8.self) == "done")
        #expect(
            site.all == ["POST http://a.example/form", "GET http://a.example/result", "GET http://a.example/result"])
        #expect(response.redirects.map(\.to) == ["http://a.example/result"])
        #expect(response.metrics.attemptCount == 2)
    }

    @Test func aGetThatIsCutOffBehindAPostIsRepeatedAlone() async throws {
        let site = Site(303) { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }
        let session = session(MockTransport { try site.answer($0) })
        _ = try await session.data(form)
        #expect(site.all.count { $0.hasPrefix("POST") } == 1)
        #expect(site.all.count == 3)
    }

    @Test func aStreamIsRepeatedAtItsHopToo() async throws {
        let site = Site(303) { _ in MockResponse(status: 503) }
        let session = session(MockTransport { try site.answer($0) })
        let stream = try await session.stream(form)
        #expect(stream.response.status == .ok)
        #expect(site.all.count { $0.hasPrefix("POST") } == 1)
    }

    @Test func aBodyThatCannotBeMadeAgainDoesNotMatterBehindTheRedirectThatLeftIt() async throws {
        let site = Site(303) { _ in MockResponse(status: 503) }
        let session = session(MockTransport { try site.answer($0) })
        let chunks = AsyncStream<Data> {
            $0.yield(Data("a".utf8)); $0.finish()
        }
        let (_, response) = try await session.upload(chunks, to: "http://a.example/form")
        #expect(response.status == .ok)
    }

    @Test func theNetworkIsWaitedForAtTheHopThatFailed() async throws {
        let site = Site(303) { _ in throw TransportFailure(.connectionFailed(.unreachable("no route"))) }
        let session = session(MockTransport { try site.answer($0) }) {
            $0.retriers = [OfflineRetrier(waitingForNetwork: { true })]
        }
        _ = try await session.data(form)
        #expect(site.all.count { $0.hasPrefix("POST") } == 1)
    }

    @Test func aRenewedCredentialIsSentWhereTheOldOneWasRefused() async throws {
        let site = Site(303) { request in
            request.request.headers[.authorization] == "new" ? .text("done") : MockResponse(status: 401)
        }
        let transport = MockTransport { try site.answer($0) }
        let session = session(transport) { $0.intercept(with: Renewing()) }
        _ = try await session.data(form)
        let requests = transport.requests
        #expect(requests.map(\.request.method.rawValue) == ["POST", "GET", "GET"])
        #expect(requests.map { $0.request.headers[.authorization] } == ["old", "old", "new"])
    }

    @Test func adaptersDoNotRunAgainForAnotherOrigin() async throws {
        let site = Site(307) { _ in MockResponse(status: 503) }
        let transport = MockTransport { try site.answer($0, location: "http://b.example/result") }
        let session = session(transport) {
            $0.adapters.append(Adapter { request, _ in request.withHeader(.authorization(bearerToken: "secret")) })
            $0.retriers.append(Self.once)
        }
        _ = try await session.data(form)
        #expect(transport.requests.map(\.url).suffix(2) == ["http://b.example/result", "http://b.example/result"])
        #expect(transport.requests.map { $0.request.headers.contains(.authorization) } == [true, false, false])
    }

    @Test func aPostWhoseRedirectIsRefusedIsNotRepeated() async throws {
        let site = Site(303) { _ in .text("done") }
        let session = session(MockTransport { try site.answer($0) }) {
            $0.redirects = RedirectPolicy(maximumRedirects: 0)
            $0.retriers = [Self.once]
        }
        let error = await #expect(throws: TrellisError.self) { try await session.data(form) }
        #expect(error?.kind == .tooManyRedirects)
        #expect(site.all == ["POST http://a.example/form"])
        // With an idempotency key the request may be retried.
        _ = try? await session.data(form.withHeader(HTTPField(name: .idempotencyKey, value: "1")))
        #expect(site.all.count == 4)
    }

    @Test func aHedgedGetBehindAPostIsRepeatedAlone() async throws {
        let site = Site(303) { _ in MockResponse(status: 503) }
        let session = session(MockTransport { try site.answer($0) }) {
            $0.hedging = HedgingPolicy(after: .seconds(60))
            $0.retriers = [Self.once]
        }
        _ = try await session.data(form)
        #expect(site.all.count { $0.hasPrefix("POST") } == 1)
        #expect(site.all.count == 3)
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
