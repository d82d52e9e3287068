#if Observability
import CoreMetrics
import FoundationEssentials
import HTTPTypes
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The metrics of requests, with the names of OpenTelemetry's conventions for HTTP clients.
@Suite(.timeLimit(.minutes(3)))
struct MetricTests {
    private static let url = "https://api.example.com/users/7"
    private static let start = [
        ("http.request.method", "GET"), ("server.address", "api.example.com"), ("server.port", "443"),
        ("url.template", ""),
    ]

    private static func end(_ status: String, _ version: String = "1.1", error: String = "") -> [(String, String)] {
        start + [
            ("http.response.status_code", status), ("network.protocol.version", version), ("error.type", error),
        ]
    }

    /// Sends a request that waits for its connection, and whose response then takes 250 ms on the session's clock.
    private func exchange(_ backends: Backends, _ fail: Bool = false) async throws {
        let (clock, transport) = (TestClock(), ScriptedTransport())
        var configuration = SessionConfiguration()
        configuration.observe()
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        async let answer = backends { try await session.data(Self.url).0 }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        await session.settle()
        #expect(backends.metrics.meters(label: "http.client.active_requests").map(\.lastValue) == [1])
        clock.move(by: .milliseconds(250))
        if fail {
            attempt.fail(.exchangeFailed(.receive("lost")))
        } else {
            attempt.receiveHead(status: 200, version: .http2)
            attempt.receiveBody("hello")
            attempt.end()
        }
        _ = try await answer
    }

    @Test func theDurationIsMeasured() async throws {
        let backends = Backends()
        try await exchange(backends)
        #expect(backends.time("http.client.request.duration", Self.end("200", "2")) == 250_000_000)
        let timer = try backends.metrics.expectTimer("http.client.request.duration", Self.end("200", "2"))
        #expect(timer.displayUnit == .seconds && timer.valueInPreferredUnit(atIndex: 0) == 0.25)
        #expect(backends.time("trellis.client.queue.duration", Self.start) == 0)
        #expect(try backends.metrics.expectMeter("http.client.active_requests", Self.start).values == [1, 0])
    }

    @Test func aFailureIsMeasuredWithItsKind() async throws {
        let backends = Backends()
        await #expect(throws: TrellisError.self) { try await exchange(backends, true) }
        #expect(backends.time("http.client.request.duration", Self.end("", "", error: "receive")) == 250_000_000)
        #expect(try backends.metrics.expectMeter("http.client.active_requests", Self.start).values == [1, 0])
    }

    @Test func theWaitForAConnectionIsMeasured() async throws {
        let backends = Backends()
        let (clock, transport) = (TestClock(), ScriptedTransport())
        var configuration = SessionConfiguration()
        configuration.observe()
        configuration.limits.perOrigin = 1
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        async let first = backends { try await session.data(Self.url).0 }
        let one = try await transport.nextAttempt()
        one.connect()
        async let second = backends { try await session.data(Self.url).0 }
        while backends.tracer.activeSpans.count < 2, !Task.isCancelled { await Task.yield() }
        // The span begins before the request is in the queue.
        await clock.advance(by: .seconds(2))
        for attempt in [one, nil] {
            let attempt = if let attempt { attempt } else { try await transport.nextAttempt() }
            attempt.respond(status: 204)
        }
        _ = try await (first, second)
        let timer = try backends.metrics.expectTimer("trellis.client.queue.duration", Self.start)
        #expect(timer.values.sorted() == [0, 2_000_000_000])
    }

    /// The wait of a request that was cancelled is not known, and does not count as none.
    @Test func aCancelledRequestHasNoWait() async throws {
        let backends = Backends()
        let transport = ScriptedTransport()
        let session = Session.observed(transport)
        let task = Task { try await backends { try await session.data(Self.url).0 } }
        _ = try await transport.nextAttempt()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await backends.waitForSpans(1)
        #expect(backends.metrics.timers(label: "trellis.client.queue.duration").flatMap(\.values) == [])
        #expect(backends.metrics.timers(label: "http.client.request.duration").map(\.values.count) == [1])
        #expect(backends.metrics.meters(label: "http.client.active_requests").map(\.lastValue) == [0])
    }

    @Test func theSizesOfTheBodiesAreMeasured() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("hello world") })
        let request = Request(Self.url, method: .post, body: .data(Data("abcde".utf8)))
        _ = try await backends { try await session.data(request) }
        #expect(backends.metrics.recorders(label: "http.client.request.body.size").map(\.values) == [[5]])
        #expect(backends.metrics.recorders(label: "http.client.response.body.size").map(\.values) == [[11]])
    }

    @Test func dimensionsWithoutAValueCanBeLeftOut() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [200]), .with { $0.omitsEmptyDimensions = true })
        _ = try await backends { try await session.data(Self.url) }
        #expect(backends.time("http.client.request.duration", Self.end("200").filter { !$0.1.isEmpty }) != nil)
    }

    /// Prometheus ends a process that uses one metric with different dimensions.
    @Test func allSeriesOfAMetricHaveTheSameDimensions() async throws {
        let backends = Backends()
        let transport = MockTransport { request in
            switch request.path {
            case "/200": MockResponse(status: 200)
            case "/500": MockResponse(status: 500)
            default: throw TransportFailure(.exchangeFailed(.receive("lost")))
            }
        }
        let session = Session.observed(transport)
        for path in ["/200", "/500", "/lost"] {
            let request = Request("https://api.example.com\(path)").withURLTemplate(path == "/500" ? "/{status}" : nil)
            _ = try? await backends { try await session.data(request) }
        }
        let timers = backends.metrics.timers(label: "http.client.request.duration")
        #expect(timers.count == 3)
        #expect(timers.allSatisfy { $0.dimensions.map(\.0) == Self.end("").map(\.0) })
        #expect(backends.values(of: "url.template") == ["", "/{status}"])
    }

    @Test func eachMetricCanBeSwitchedOff() async throws {
        let labels: [Observability.MetricSet: Set<String>] = [
            .requestDuration: ["http.client.request.duration"],
            .requestBodySize: ["http.client.request.body.size"],
            .responseBodySize: ["http.client.response.body.size"],
            .activeRequests: ["http.client.active_requests"],
            .queueDuration: ["trellis.client.queue.duration"],
            .retries: ["trellis.client.retries"],
            .cacheResults: ["trellis.client.cache"],
            .all: [
                "http.client.request.duration", "http.client.request.body.size", "http.client.response.body.size",
                "http.client.active_requests", "trellis.client.queue.duration", "trellis.client.retries",
                "trellis.client.cache",
            ], []: [],
        ]
        for (set, expected) in labels {
            let backends = Backends()
            let session = Session.observed(MockTransport(statuses: [503, 200]), .with { $0.metrics = set }) {
                $0.steps.intercept(with: RetryPolicy.once)
                $0.steps.cache = HTTPCache()
            }
            _ = try await backends { try await session.data(Request(Self.url, method: .put, body: .string("x"))) }
            let metrics = backends.metrics
            let found =
                metrics.timers.map(\.label) + metrics.recorders.map(\.label) + metrics.meters.map(\.label)
                + metrics.counters.map(\.label)
            #expect(Set(found) == expected)
        }
    }
}
#endif
