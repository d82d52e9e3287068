#if Observability
import CoreMetrics
import CurlEngine
import FoundationEssentials
import InMemoryTracing
import Logging
import MetricsTestKit
import Testing
import Tracing
@_spi(Transport) import Trellis
@_spi(Transport) import TrellisTesting

@testable import TrellisObservability

/// The attributes and the backends that requests share, and those that they do not share.
@Suite(.timeLimit(.minutes(3)))
struct RequestProfileTests {
    @Test func theEndOfEachSpanHasItsOwnStatusAndPeer() async throws {
        let ends = [(200, "192.0.2.1"), (404, "192.0.2.1"), (200, "192.0.2.2"), (200, "192.0.2.1")]
        let responses = ends.map { status, host in
            var response = MockResponse(status: status)
            response.report.peerHost = host
            return response
        }
        let backends = Backends()
        let session = Session.observed(MockTransport(responses: responses))
        for path in ["a", "b", "c", "d"] {
            _ = try? await backends { try await session.data("https://api.example.com/\(path)") }
        }
        let spans = backends.spans
        #expect(spans.compactMap { $0["http.response.status_code"] } == ends.map { SpanAttribute.int64(Int64($0.0)) })
        #expect(spans.compactMap { $0["network.peer.address"] } == ends.map { SpanAttribute.string($0.1) })
        #expect(spans.map { $0["error.type"] == nil } == [true, false, true, true])
        let urls = spans.compactMap { $0["url.full"] }
        #expect(urls == ["a", "b", "c", "d"].map { SpanAttribute.string("https://api.example.com/\($0)") })
    }

    /// More servers than profiles are kept.
    @Test func eachOfManyServersHasItsOwnAttributesAndSeries() async throws {
        let hosts = (0..<40).map { "h\($0).example" } + ["h0.example", "h1.example"]
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [200]))
        for host in hosts { _ = try await backends { try await session.data("https://\(host)/") } }
        #expect(backends.spans.compactMap { $0["server.address"] } == hosts.map { SpanAttribute.string($0) })
        #expect(backends.values(of: "server.address") == Set(hosts))
    }

    @Test func eachTaskHasItsOwnTracerObject() async throws {
        let (one, two) = (ObjectTracer(), ObjectTracer())
        let session = Session.observed(MockTransport(statuses: [200]))
        for tracer in [one, two, one] {
            _ = try await withTracer(tracer) { try await session.data("https://api.example.com/") }
        }
        #expect(one.inner.finishedSpans.count == 2 && two.inner.finishedSpans.count == 1)
    }

    /// A factory that is a value takes the place of one that is an object. Two values count as the same factory.
    @Test func eachOtherFactoryIsASwitch() {
        let cache = InstrumentCache(Observability())
        let value = StreamMetricsFactory.standardOutput()
        let factories: [any MetricsFactory] = [TestMetrics(), value, value, TestMetrics()]
        let counts = factories.map { factory in
            withMetricsFactory(factory) { _ = cache.source() }
            return cache.switchCount
        }
        #expect(counts == [0, 1, 1, 2])
    }

    // MARK: Backends that do nothing

    private static var nothing: Observability {
        var settings = Observability()
        settings.tracer = NoOpTracer()
        settings.metricsFactory = NOOPMetricsHandler.instance
        settings.logger = Logger(label: "none") { _ in SwiftLogNoOpLogHandler() }
        return settings
    }

    private func isObserved(_ settings: Observability) -> Bool {
        var configuration = SessionConfiguration()
        configuration.observe(with: settings)
        return configuration.steps.exchangeObserver != nil
    }

    @Test func backendsThatDoNothingAreNotInstalled() {
        #expect(!isObserved(Self.nothing))
        var spans = Self.nothing
        spans.createsCallSpans = true
        var configuration = SessionConfiguration()
        configuration.observe(with: spans)
        #expect(configuration.steps.application.isEmpty)
        let changes: [(inout Observability) -> Void] = [
            { $0.tracer = nil }, { $0.metricsFactory = nil }, { $0.logger = nil },
        ]
        for change in changes {
            var settings = Self.nothing
            change(&settings)
            #expect(isObserved(settings))
        }
    }

    @Test func connectionsWithoutMetricsAreNotObserved() {
        var settings = Self.nothing
        settings.logger = nil
        #expect(ExchangeInstrumentation(settings).connectionObserver == nil)
        settings.metricsFactory = nil
        #expect(ExchangeInstrumentation(settings).connectionObserver != nil)
    }
}

/// A tracer that is an object.
private final class ObjectTracer: Tracer {
    let inner = InMemoryTracer()

    func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        inner.startSpan(
            name, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func forceFlush() {}
}
#endif
