#if Observability
import FoundationEssentials
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// A step that sends each request twice, as an authentication with a challenge does.
private struct Twice: RequestStep {
    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        _ = try await next(request)
        return try await next(request)
    }
}

/// The requests of a call after its first one.
@Suite(.timeLimit(.minutes(3)))
struct ResendTests {
    private static let url = "https://api.example.com/a"

    /// The texts and numbers of an attribute, one for each span.
    private static func numbers(_ backends: Backends, _ name: String) -> [SpanAttribute?] {
        backends.spans.map { $0[name] }
    }

    @Test func aRetryHasASpanOfItsOwn() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [503, 200])) {
            $0.steps.intercept(with: RetryPolicy.once)
        }
        _ = try await backends { try await session.data(Self.url) }
        #expect(Self.numbers(backends, "http.response.status_code") == [.int64(503), .int64(200)])
        #expect(Self.numbers(backends, "http.request.resend_count") == [nil, .int64(1)])
        #expect(Self.numbers(backends, "trellis.retry.count") == [nil, .int64(1)])
        #expect(Self.numbers(backends, "trellis.redirect.count") == [nil, nil])
        let counters = backends.metrics.counters(label: "trellis.client.retries")
        #expect(counters.map(\.totalValue) == [1])
        #expect(counters.first?.dimensions.value(of: "error.type") == "503")
        #expect(counters.first?.dimensions.value(of: "server.address") == "api.example.com")
        let lines = backends.log.entries.filter { $0.level == .info }
        #expect(lines.map(\.message) == ["HTTP request is sent again"])
        #expect(lines.first?["error.type"] == "503" && lines.first?["trellis.retry.count"] == "1")
        #expect(lines.first?["url.full"] == Self.url && lines.first?["trellis.retry.delay"] == "0.0")
    }

    @Test func aFailureIsTheReasonOfARetry() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in throw TransportFailure(.exchangeFailed(.receive("lost"))) }
        let session = Session.observed(transport) { $0.steps.intercept(with: RetryPolicy.once) }
        _ = try? await backends { try await session.data(Self.url) }
        #expect(Self.numbers(backends, "error.type") == [.string("receive"), .string("receive")])
        let counters = backends.metrics.counters(label: "trellis.client.retries")
        #expect(counters.map(\.totalValue) == [1])
        #expect(counters.first?.dimensions.value(of: "error.type") == "receive")
    }

    @Test func aRedirectHasASpanOfItsOwn() async throws {
        let backends = Backends()
        let redirect = MockResponse(status: 302, headers: [.location: "/b?sig=1"])
        let transport = MockTransport(responses: [redirect, .text("there")])
        let session = Session.observed(transport)
        _ = try await backends { try await session.data(Request(Self.url).withURLTemplate("/{name}")) }
        #expect(backends.spans.map(\.operationName) == ["GET /{name}", "GET"])
        #expect(backends.spans.first?.status == nil)
        #expect(
            Self.numbers(backends, "url.full")
                == [.string(Self.url), .string("https://api.example.com/b?sig=REDACTED")])
        #expect(Self.numbers(backends, "http.request.resend_count") == [nil, .int64(1)])
        #expect(Self.numbers(backends, "trellis.redirect.count") == [nil, .int64(1)])
        #expect(Self.numbers(backends, "url.template") == [.string("/{name}"), nil])
    }

    @Test func aRetryBehindARedirectCountsBoth() async throws {
        let backends = Backends()
        let transport = MockTransport { request in
            request.path == "/a" ? MockResponse(status: 302, headers: [.location: "/b"]) : MockResponse(status: 503)
        }
        let session = Session.observed(transport) { $0.steps.intercept(with: RetryPolicy.once) }
        _ = try? await backends { try await session.data(Self.url) }
        #expect(Self.numbers(backends, "http.request.resend_count") == [nil, .int64(1), .int64(2)])
        #expect(Self.numbers(backends, "trellis.retry.count") == [nil, nil, .int64(1)])
    }

    /// The observation is inside of all steps: a step that sends a request twice makes two spans.
    @Test func aRepetitionByAStepHasASpanOfItsOwn() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [200])) { $0.steps.network.append(Twice()) }
        _ = try await backends { try await session.data(Request(Self.url).withSteps { $0.network = [Twice()] }) }
        #expect(
            Self.numbers(backends, "http.request.resend_count") == [nil, .int64(1), .int64(2), .int64(3)])
    }

    @Test func anAttemptThatLosesARaceIsNoError() async throws {
        let backends = Backends()
        let (clock, transport) = (TestClock(), ScriptedTransport())
        var configuration = SessionConfiguration()
        configuration.observe()
        configuration.steps.hedging = HedgingPolicy(after: .seconds(1))
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        async let answer = backends { try await session.data(Self.url).0 }
        let slow = try await transport.nextAttempt()
        slow.connect()
        await clock.waitForSleepers()
        clock.move(by: .seconds(1))
        let quick = try await transport.nextAttempt()
        quick.respond("quick")
        #expect(try await answer == Data("quick".utf8))
        await backends.waitForSpans(2)
        let lost = try #require(backends.spans.first { $0["http.response.status_code"] == nil })
        #expect(lost.status == nil && lost["error.type"] == nil && lost["http.request.resend_count"] == nil)
        let won = try #require(backends.spans.first { $0["http.response.status_code"] != nil })
        #expect(won["http.request.resend_count"] == .int64(1) && won["trellis.retry.count"] == .int64(1))
    }
}
#endif
