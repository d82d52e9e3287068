import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// Validation as part of an attempt: the errors that retriers receive, and the bytes that are read of a refused response.
@Suite(.timeLimit(.minutes(3)))
struct AttemptValidationTests {
    private struct Stale: Error {}

    /// A retrier that records the failed attempts, and retries once.
    private final class Asked: RequestRetrier {
        let attempts = Locked<[FailedAttempt]>([])
        func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
            attempts.withLock { $0.append(attempt) }
            return context.attempt < 2 ? .retry : .doNotRetry
        }
    }

    private func session(
        _ asked: any RequestRetrier, _ answer: @escaping @Sendable (Int) -> MockResponse
    ) -> (Session, MockRoute) {
        let router = MockRouter()
        let route = router.route(.get, "/").respond { match in answer(match.count) }
        var configuration = SessionConfiguration()
        configuration.steps.retriers.append(asked)
        return (Session(configuration: configuration, transport: router), route)
    }

    /// A step that turns a refused page into an accepted one.
    private struct Forgiving: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            let answer = try await next(request)
            return StepResponse(to: request, status: .ok, body: answer.data ?? Data())
        }
    }

    @Test(arguments: [false, true])
    func aStepThatMakesAnotherAnswerGetsTheWholeBody(isAroundCalls: Bool) async throws {
        let text = String(repeating: "x", count: 200_000)
        var configuration = SessionConfiguration()
        if isAroundCalls {
            configuration.steps.application.append(Forgiving())
        } else {
            configuration.steps.network.append(Forgiving())
        }
        let transport = MockTransport { _ in MockResponse(status: 404, body: Data(text.utf8)) }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.string("http://a.example/").utf8.count == 200_000)
    }

    @Test func anAnswerThatIsRefusedIsAFailedAttempt() async throws {
        let asked = Asked()
        let (session, route) = session(asked) { .text($0 == 1 ? "stale" : "fresh") }
        let text = try await session.request("http://a.example/")
            .validate { _, _, body in if body == Data("stale".utf8) { throw Stale() } }
            .string()
        #expect(text == "fresh")
        #expect(route.requests.count == 2)
        let failed = try #require(asked.attempts.withLock { $0 }.first)
        #expect(failed.response?.status == .ok)
        #expect(failed.body == Data("stale".utf8))
        #expect(failed.error is Stale)
    }

    @Test func anAnswerThatStaysRefusedIsTheReadersError() async throws {
        let asked = Asked()
        let (session, route) = session(asked) { _ in .text("stale") }
        let count = Locked(0)
        await #expect(throws: Stale.self) {
            try await session.request("http://a.example/").validate { _, _, _ in
                count.withLock { $0 += 1 }
                throw Stale()
            }.data()
        }
        #expect(route.requests.count == 2)
        // The validator runs once for each attempt: the reader uses the validationResult of the last one.
        #expect(count.withLock { $0 } == 2)
    }

    @Test func whatAVerbChecksByItselfIsPartOfItsAttemptsToo() async throws {
        let asked = Asked()
        let (session, _) = session(asked) { $0 == 1 ? .text("<html>") : .json("[1]") }
        let request = Request("http://a.example/", headers: [.accept: "application/json"])
        #expect(try await session.decode([Int].self, from: request) == [1])
        #expect((asked.attempts.withLock { $0 }.first?.error as? TrellisError)?.kind == .unacceptableContentType)
    }

    @Test func aTransientStatusIsRetriedWhateverRefusesIt() async throws {
        let (session, route) = session(RetryPolicy(random: { 0 })) { .text("", status: $0 == 1 ? 503 : 200) }
        _ = try await session.request("http://a.example/").validate { _, response, _ in
            if response.status.code != 200 { throw Stale() }
        }.data()
        #expect(route.requests.count == 2)
    }

    @Test func readersWithOtherConditionsJudgeForThemselves() async throws {
        let asked = Asked()
        let (session, _) = session(asked) { _ in .text("x", status: 404) }
        let handle = session.request("http://a.example/")
        await #expect(throws: TrellisError.self) { try await handle.validate().data() }
        #expect(try await handle.data() == Data("x".utf8))
    }

    // MARK: Interceptors

    private struct Signing: RequestInterceptor {
        let name: String
        func adapt(_ request: Request, context: CallContext) async throws -> Request {
            var request = request
            request.headers.append(HTTPField(name: .from, value: name))
            return request
        }
        func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
            context.attempt < 2 ? .retry : .doNotRetry
        }
    }

    @Test(arguments: ["adapters", "retriers", "both", "intercept", "request"])
    func anInterceptorIsInstalledWhole(way: String) async throws {
        let transport = MockTransport { _ in MockResponse(status: 500) }
        var configuration = SessionConfiguration()
        var request = Request("http://a.example/")
        switch way {
        case "adapters": configuration.steps.adapters.append(Signing(name: "a"))
        case "retriers": configuration.steps.retriers.append(Signing(name: "a"))
        case "both":
            configuration.steps.adapters.append(Signing(name: "a"))
            configuration.steps.retriers.append(Signing(name: "a"))
        case "intercept": configuration.steps.intercept(with: Signing(name: "a"))
        default: request = request.withRetrier(Signing(name: "a"))
        }
        _ = try await Session(configuration: configuration, transport: transport).data(request)
        #expect(transport.requests.map { $0.request.headers[values: .from] } == [["a"], ["a"]])
    }

    @Test(
        .trellis(
            .mock { _ in MockResponse(status: 503) },
            .session { $0.steps.retriers.append(RetryPolicy(addsIdempotencyKey: true, random: { 0 })) }))
    func aRetryPolicyAmongTheRetriersAddsItsKeys() async throws {
        let (session, transport) = (try #require(Session.current), try #require(MockTransport.current))
        _ = try await session.data(Request("http://a.example/", method: .post))
        let keys = Set(transport.requests.map { $0.request.headers[.idempotencyKey] })
        #expect(transport.startedCount == 3)
        #expect(keys.count == 1 && !keys.contains(nil))
    }

    @Test func stepsThatAreReadAndWrittenBackStayTheSame() {
        var request = Request("http://a.example/").withRetrier(RetryPolicy()).withInterceptor(Signing(name: "a"))
        request = request.withSteps { _ in }.withSteps { _ in }
        #expect(request.attachedSteps?.steps.adapters.count == 2)
        #expect(request.attachedSteps?.steps.retriers.count == 2)
        #expect(request.steps?.adapters.count == 1)
    }

    // MARK: Bodies of refused responses

    /// Returns a response whose body never ends by itself.
    private static func endless(_ status: Int) -> MockResponse {
        MockResponse(status: status, headers: [.contentType: "text/html"]) { writer in
            while true { try await writer.write(Data(repeating: 0x78, count: 16 << 10)) }
        }
    }

    @Test(arguments: ["decode", "decoding", "validate", "steps", "type"])
    func ofARefusedBodyNoMoreIsReadThanAnErrorShows(way: String) async throws {
        let transport = MockTransport { _ in Self.endless(way == "type" ? 200 : 404) }
        var configuration = SessionConfiguration()
        if way == "steps" { configuration.steps.adapters.append(Adapter { request, _ in request }) }
        let session = Session(configuration: configuration, transport: transport)
        let request = Request(
            "http://a.example/", headers: way == "type" ? [.accept: "application/json"] : [:])
        let error = await #expect(throws: TrellisError.self) {
            switch way {
            case "decoding": _ = try await session.request(request).decode([Int].self)
            case "validate": _ = try await session.request(request).validate(statusCode: [200]).data()
            default: _ = try await session.decode([Int].self, from: request)
            }
        }
        #expect(error?.kind == (way == "type" ? .unacceptableContentType : .unacceptableStatus))
        #expect(error?.bodyExcerpt?.isCut == true)
        // A body that was read further would have ended with `bodyTooLarge`.
        try await transport.waitUntilIdle()
        #expect(transport.cancelledCount == 1)
    }

    @Test func retriersSeeTheBeginningOfARefusedBody() async throws {
        let asked = Asked()
        let (session, _) = session(asked) { _ in Self.endless(404) }
        await #expect(throws: TrellisError.self) { try await session.string("http://a.example/") }
        #expect(asked.attempts.withLock { $0 }.map { $0.body?.count } == [64 << 10, 64 << 10])
    }

    /// A body that is larger than the part of a refused one that is read.
    private static let large = Data(repeating: 0x78, count: 200 << 10)

    @Test(.trellis(.mock { _ in MockResponse(status: 404, body: AttemptValidationTests.large) }))
    func aReaderThatAcceptsAnythingGetsAllOfIt() async throws {
        let (session, body) = (try #require(Session.current), Self.large)
        #expect(try await session.data("http://a.example/").0 == body)
        #expect(try await session.request("http://a.example/").data() == body)
        #expect(try await session.request("http://a.example/").withoutValidation().string().utf8.count == body.count)
        #expect(MockTransport.current?.cancelledCount == 0)
    }

    @Test(.trellis(.mock { _ in MockResponse(status: 404, body: AttemptValidationTests.large) }))
    func aLaterReaderOfACutBodyIsToldThatItIsCut() async throws {
        let session = try #require(Session.current)
        let handle = session.request("http://a.example/")
        await #expect(throws: TrellisError.self) { try await handle.validate().data() }
        let error = await #expect(throws: TrellisError.self) { try await handle.data() }
        #expect(error?.kind == .truncatedBody)
    }

    @Test(.trellis(.mock { _ in .text("0123456789", status: 500) }))
    func aSmallLimitOfTheBodyDoesNotHideWhyItIsRefused() async throws {
        let session = try #require(Session.current)
        var request = Request("http://a.example/")
        request.maximumBodySize = .bytes(4)
        let error = await #expect(throws: TrellisError.self) { try await session.decode(Int.self, from: request) }
        #expect(error?.kind == .unacceptableStatus)
        #expect(error?.bodyExcerpt?.text == "0123")
    }
}
