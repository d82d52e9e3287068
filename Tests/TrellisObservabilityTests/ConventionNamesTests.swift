#if Observability
import FoundationEssentials
import HTTPTypes
import InMemoryLogging
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing
@_spi(Transport) import Trellis
import TrellisObservability
@_spi(Transport) import TrellisTesting

/// The names in spans, metrics and logs are published by OpenTelemetry, or the framework's own.
@Suite(.timeLimit(.minutes(3)))
struct ConventionNamesTests {
    /// The attributes of the package opentelemetry-semantic-conventions 0.66b2 for Python that concern HTTP clients and are not deprecated.
    /// `ConventionPackageTests` compares these lists with the package.
    private static let attributes: Set<String> = [
        "error.type", "exception.message", "exception.type", "http.connection.state", "http.request.body.size",
        "http.request.header",
        "http.request.method", "http.request.method_original", "http.request.resend_count", "http.request.size",
        "http.response.body.size", "http.response.header", "http.response.size", "http.response.status_code",
        "network.local.address", "network.local.port", "network.peer.address", "network.peer.port",
        "network.protocol.name", "network.protocol.version", "network.transport", "network.type", "server.address",
        "server.port", "url.domain", "url.fragment", "url.full", "url.path", "url.port", "url.query", "url.scheme",
        "url.template", "user_agent.name", "user_agent.original", "user_agent.version",
    ]
    /// The metrics of the same package for HTTP clients.
    private static let metrics: Set<String> = [
        "http.client.active_requests", "http.client.connection.duration", "http.client.open_connections",
        "http.client.request.body.size", "http.client.request.duration", "http.client.response.body.size",
    ]

    /// The names that a client with all parts, and with all kinds of outcomes, has used.
    private static func used() async throws -> (attributes: Set<String>, dimensions: Set<String>, metrics: Set<String>)
    {
        let backends = Backends()
        let transport = MockTransport { request in
            var response =
                switch request.path {
                case "/a": MockResponse(status: 302, headers: [.location: "/b"])
                case "/b": MockResponse(headers: [.cacheControl: "max-age=60"], body: Data("x".utf8))
                case "/c": MockResponse(status: 503)
                default: throw TransportFailure(.exchangeFailed(.receive("lost")))
                }
            response.report.peerHost = "192.0.2.1"
            response.report.peerPort = 80
            return response
        }
        let session = Session.observed(
            transport, .with { ($0.recordsUserAgent, $0.createsCallSpans) = (true, true) }
        ) {
            $0.steps.intercept(with: RetryPolicy.once)
            $0.steps.cache = HTTPCache()
            $0.steps.circuitBreaker = CircuitBreaker(minimumRequests: 2)
        }
        for url in ["http://a.example/a", "http://a.example/b", "http://c.example/c", "http://d.example/d"] {
            let request = Request(url).withURLTemplate("/{name}")
            _ = try? await backends { try await session.data(request) }
        }
        let put = Request(
            "http://other.example/b", method: try #require(HTTPRequest.Method("PURGE")), body: .string("x"))
        _ = try? await backends { try await session.data(put) }
        let server = try LoopbackServer.http { _ in .text("hello") }
        let connected = Session.observed(nil)
        _ = try await backends { try await connected.data(server.url("/")) }
        let metrics = backends.metrics
        // A connection that ends at once is not seen as an open one.
        while !metrics.meters.contains(where: { $0.label == "http.client.open_connections" }), !Task.isCancelled {
            await Task.yield()
        }
        await connected.shutdown()
        while metrics.timers(label: "http.client.connection.duration").isEmpty, !Task.isCancelled { await Task.yield() }
        let series =
            metrics.timers.map { ($0.label, $0.dimensions) } + metrics.meters.map { ($0.label, $0.dimensions) }
            + metrics.recorders.map { ($0.label, $0.dimensions) } + metrics.counters.map { ($0.label, $0.dimensions) }
        return (
            Set(backends.spans.flatMap(\.values.keys) + backends.log.entries.flatMap(\.metadata.keys)),
            Set(series.flatMap { $0.1.map(\.0) }), Set(series.map(\.0))
        )
    }

    @Test func allNamesArePublishedOrOurOwn() async throws {
        let used = try await Self.used()
        let names = used.attributes.union(used.dimensions)
        let own: Set<String> = names.filter { $0.hasPrefix("trellis.") }
        let published = names.subtracting(own)
        #expect(published.subtracting(Self.attributes) == [])
        #expect(
            published == [
                "error.type", "exception.message", "http.connection.state", "http.request.method",
                "http.request.method_original", "http.request.resend_count", "http.response.status_code",
                "network.peer.address", "network.peer.port",
                "network.protocol.version", "server.address", "server.port", "url.full", "url.template",
                "user_agent.original",
            ])
        #expect(
            own == [
                "trellis.cache.result", "trellis.call.id", "trellis.circuit.open_duration", "trellis.duration",
                "trellis.redirect.count", "trellis.retry.count", "trellis.retry.delay",
            ])
    }

    @Test func allMetricsArePublishedOrOurOwn() async throws {
        let used = try await Self.used()
        let published: Set<String> = used.metrics.filter { !$0.hasPrefix("trellis.") }
        #expect(published.subtracting(Self.metrics) == [])
        #expect(
            used.metrics == [
                "http.client.active_requests", "http.client.connection.duration", "http.client.open_connections",
                "http.client.request.body.size", "http.client.request.duration", "http.client.response.body.size",
                "trellis.client.cache", "trellis.client.queue.duration",
                "trellis.client.retries",
            ])
    }
}
#endif
