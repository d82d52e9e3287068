#if Observability
import CoreMetrics
import CurlEngine
import FoundationEssentials
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing
import Trellis
import TrellisTesting

@testable import TrellisObservability

/// A factory that counts the instruments that are requested from it.
private final class CountingFactory: MetricsFactory {
    private let upstream = TestMetrics()
    private let requested = Locked<[String]>([])

    var labels: [String] { requested.withLock { $0 } }

    private func note(_ label: String) { requested.withLock { $0.append(label) } }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        note(label)
        return upstream.makeCounter(label: label, dimensions: dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        note(label)
        return upstream.makeMeter(label: label, dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        note(label)
        return upstream.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        note(label)
        return upstream.makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// The number of series, and of the instruments for them.
@Suite(.timeLimit(.minutes(3)))
struct CardinalityTests {
    @Test func serversBeyondTheirNumberAreOther() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [200]), .with { $0.maximumServerCount = 2 })
        for host in ["a", "b", "c", "d", "a", "c"] {
            _ = try await backends { try await session.data("https://\(host).example/") }
        }
        #expect(backends.values(of: "server.address") == ["a.example", "b.example", "_OTHER"])
        let counts = backends.metrics.timers(label: "http.client.request.duration").map { timer in
            (timer.dimensions.value(of: "server.address") ?? "", timer.values.count)
        }
        #expect(Dictionary(uniqueKeysWithValues: counts) == ["a.example": 2, "b.example": 1, "_OTHER": 3])
        // Spans have no bound.
        #expect(backends.spans.map { $0["server.address"] }.last == .string("c.example"))
    }

    @Test func seriesBeyondTheirNumberLoseTheirValues() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport(statuses: [200]), .with { ($0.maximumSeriesCount, $0.metrics) = (3, .requestDuration) })
        for id in 1...5 {
            let request = Request("https://a.example/").withURLTemplate("/\(id)")
            _ = try await backends { try await session.data(request) }
        }
        // The beginnings of requests are series as well.
        #expect(backends.values(of: "url.template") == ["/1", "_OTHER"])
        let timers = backends.metrics.timers(label: "http.client.request.duration")
        #expect(timers.map(\.values.count).reduce(0, +) == 5)
        #expect(backends.values(of: "http.request.method") == ["GET", "_OTHER"])
    }

    /// A factory that is a value has no identity; the bounds hold for it nevertheless.
    @Test func theBoundsHoldForFactoriesThatAreValues() async throws {
        let backends = Backends()
        let factory = backends.metrics.withLabelAndDimensionsMapping { ($0, $1) }
        let session = Session.observed(MockTransport(statuses: [200]), .with { $0.maximumServerCount = 1 })
        for host in ["a", "b", "a", "c"] {
            _ = try await withMetricsFactory(factory) { try await session.data("https://\(host).example/") }
        }
        #expect(backends.values(of: "server.address") == ["a.example", "_OTHER"])
        #expect(
            backends.metrics.timers(label: "http.client.request.duration").map(\.values.count).sorted() == [2, 2])
        #expect(backends.metrics.meters(label: "http.client.active_requests").allSatisfy { $0.lastValue == 0 })
    }

    @Test(arguments: [false, true])
    func instrumentsAreMadeOnceForAFactory(isFixed: Bool) async throws {
        let factory = CountingFactory()
        let session = Session.observed(
            MockTransport(statuses: [200]), .with { if isFixed { $0.metricsFactory = factory } })
        for _ in 1...3 {
            if isFixed {
                _ = try await session.data("https://a.example/")
            } else {
                _ = try await withMetricsFactory(factory) { try await session.data("https://a.example/") }
            }
        }
        #expect(
            factory.labels.sorted() == [
                "http.client.active_requests", "http.client.request.body.size", "http.client.request.duration",
                "http.client.response.body.size", "trellis.client.queue.duration",
            ])
    }

    /// Programs that make a factory for each task keep only a few of them.
    @Test func factoriesAreForgotten() throws {
        let cache = InstrumentCache(Observability())
        weak var first: TestMetrics?
        for index in 0..<40 {
            let factory = TestMetrics()
            if index == 0 { first = factory }
            let source = withMetricsFactory(factory) { cache.source() }
            let series = Series(
                kind: .start, method: "GET", server: ServerAddress(of: "http://a.example/"), template: "")
            _ = try #require(source).instruments(of: series)
        }
        #expect(first == nil)
    }

    @Test func theBoundsAreThoseOfTheSettings() {
        var settings = Observability()
        (settings.maximumServerCount, settings.maximumSeriesCount) = (2, 4)
        var bounds = SeriesBounds(settings)
        func bounded(_ host: String, _ status: Int) -> Series {
            bounds.bounded(
                Series(
                    kind: .end(status: status, version: .http1_1, errorType: nil), method: "GET",
                    server: ServerAddress(address: host, port: 80), template: ""))
        }
        #expect((1...3).map { bounded("a", $0).server.address } == ["a", "a", "a"])
        #expect(bounded("b", 1).server.address == "b")
        #expect(bounded("c", 1) == bounded("d", 9))
        #expect(bounded("a", 2).kind == .end(status: 2, version: .http1_1, errorType: nil))
        #expect(bounded("a", 9).kind == .end(status: nil, version: nil, errorType: nil))
    }
}
#endif
