#if Observability
import CoreMetrics
import CurlEngine
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

private struct User: Decodable, Sendable { var name: String }

/// Sets the backends of the process. Call this once, before the first request.
private func bootstrap(_ tracer: some Tracer, _ factory: some MetricsFactory) {
    LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = .debug
        return handler
    }
    MetricsSystem.bootstrap(factory)
    InstrumentationSystem.bootstrap(tracer)
}

private func makeObservedSession() -> Session {
    var configuration = SessionConfiguration()
    configuration.observe()
    configuration.retry = RetryPolicy(exponentialBackoffScale: .milliseconds(10))
    return Session(configuration: configuration)
}

private func loadUser(from session: Session) async throws -> User {
    let request = Request("https://api.example.com/users/7?token=abc").withURLTemplate("/users/{id}")
    return try await session.decode(User.self, from: request)
}

/// Loads the user in the scope of other backends than the process's, for example in a test.
private func loadUser(
    from session: Session, _ tracer: some Tracer, _ factory: some MetricsFactory, _ logger: Logger
) async throws -> User {
    try await withTracer(tracer) {
        try await withMetricsFactory(factory) {
            try await withLogger(logger) { _ in try await loadUser(from: session) }
        }
    }
}

private func observeWithin(_ configuration: inout SessionConfiguration) throws {
    var observability = Observability()
    observability.propagation = .hosts([try HostPattern("**.corp.example"), try HostPattern("orders")])
    configuration.observe(with: observability)
}

private func observeEverywhere(_ configuration: inout SessionConfiguration) throws {
    var observability = Observability()
    observability.baggagePropagation = .hosts([try HostPattern("**.corp.example")])  // the trace goes everywhere
    configuration.observe(with: observability)
}

/// The complete example of the page about the product. The backends of the process are those of all tests, and are not replaced.
@Suite(.timeLimit(.minutes(3)))
struct ObservabilityPageTests {
    @Test func anExampleIsObserved() async throws {
        let backends = Backends()
        let (tracer, factory, logger) = (backends.tracer, backends.metrics, backends.logger)
        let transport = MockTransport(responses: [MockResponse(status: 503), .json(#"{"name":"Ada"}"#)])
        let session = makeObservedSession()
        let user = try await withTransport(transport) { try await loadUser(from: session, tracer, factory, logger) }
        #expect(user.name == "Ada")
        #expect(tracer.finishedSpans.map(\.operationName) == ["GET /users/{id}", "GET /users/{id}"])
        #expect(tracer.finishedSpans.map { $0["http.response.status_code"] } == [.int64(503), .int64(200)])
        #expect(tracer.finishedSpans.map { $0["error.type"] } == [.string("503"), nil])
        #expect(tracer.finishedSpans.map { $0["http.request.resend_count"] } == [nil, .int64(1)])
        let url = SpanAttribute.string("https://api.example.com/users/7?token=REDACTED")
        #expect(tracer.finishedSpans.map { $0["url.full"] } == [url, url])
        let timers = factory.timers(label: "http.client.request.duration")
        #expect(timers.flatMap(\.values).count == 2)
        #expect(factory.counterTotal(label: "trellis.client.retries") == 1)
        #expect(backends.log.entries.map(\.level) == [.debug, .info, .debug])
        #expect(
            backends.log.entries.map(\.message) == [
                "HTTP response was received", "HTTP request is sent again", "HTTP response was received",
            ])
        #expect(backends.log.entries.map { $0["error.type"] } == ["503", "503", nil])
    }

    /// The hosts of the rules, and a partner's.
    @Test func theContextGoesToTheHostsOfTheRule() async throws {
        func fields(_ observe: (inout SessionConfiguration) throws -> Void) async throws -> [String] {
            var configuration = SessionConfiguration()
            try observe(&configuration)
            let transport = MockTransport { _ in .text("x") }
            let session = Session(configuration: configuration, transport: transport)
            try await W3CTracer.within("user=7") {
                for host in ["api.corp.example", "orders", "partner.example"] {
                    _ = try await session.data("https://\(host)/")
                }
            }
            return transport.requests.map { "\($0["traceparent"] == nil ? "-" : "trace") \($0["baggage"] ?? "-")" }
        }
        #expect(try await fields(observeWithin) == ["trace user=7", "trace user=7", "- -"])
        #expect(try await fields(observeEverywhere) == ["trace user=7", "trace -", "trace -"])
    }
}
#endif
