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

/// The example of the page about the product.
@Suite(.timeLimit(.minutes(1)))
struct ObservabilityPageTests {
    @Test func anExampleIsObserved() async throws {
        let backends = Backends()
        let (tracer, factory, logger) = (backends.tracer, backends.metrics, backends.logger)
        let transport = MockTransport(responses: [MockResponse(status: 503), .json(#"{"name":"Ada"}"#)])

        var configuration = SessionConfiguration()
        configuration.observe()
        configuration.steps.intercept(with: RetryPolicy(exponentialBackoffScale: .milliseconds(10)))
        let session = Session(configuration: configuration, transport: transport)

        let user = try await withTracer(tracer) {
            try await withMetricsFactory(factory) {
                try await withLogger(logger) { _ in
                    let request = Request("https://api.example.com/users/7?token=abc").withURLTemplate("/users/{id}")
                    return try await session.decode(User.self, from: request)
                }
            }
        }

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
}
#endif
