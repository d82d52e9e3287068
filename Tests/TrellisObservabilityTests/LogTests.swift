#if Observability
import FoundationEssentials
import HTTPTypes
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The lines in the log.
@Suite(.timeLimit(.minutes(3)))
struct LogTests {
    private static let url = "https://ada.example/a?token=abc"

    @Test func aResponseIsALineOfTheLevelDebug() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [200]))
        let (_, response) = try await backends {
            try await session.data(Request(Self.url).withURLTemplate("/{name}"))
        }
        let line = try #require(backends.log.entries.first)
        #expect(backends.log.entries.count == 1 && line.level == .debug)
        #expect(line.message == "HTTP response was received" && line.error == nil)
        #expect(Double(line["trellis.duration"] ?? "") != nil)
        #expect(
            line.metadata.filter { $0.key != "trellis.duration" }.mapValues { "\($0)" } == [
                "http.request.method": "GET", "url.full": "https://ada.example/a?token=REDACTED",
                "url.template": "/{name}", "http.response.status_code": "200", "network.protocol.version": "1.1",
                "trellis.call.id": "\(response.callID)",
            ])
    }

    @Test func aFailureIsALineWithItsKindAndItsWords() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in throw TransportFailure(.connectionFailed(.unreachable("refused"))) }
        _ = try? await backends { try await Session.observed(transport).data(Self.url) }
        let line = try #require(backends.log.entries.first)
        #expect(line.level == .warning && line.message == "HTTP request has failed")
        #expect(line["error.type"] == "connect" && line["exception.message"]?.contains("refused") == true)
        #expect(line.metadata.values.allSatisfy { !"\($0)".contains("abc") })
    }

    /// A log at its usual level shows failures, and nothing about responses.
    @Test func aLogOfTheLevelInfoHasTheFailures() async throws {
        let backends = Backends(level: .info)
        let transport = MockTransport { request in
            guard request.url.hasSuffix("/bad") else { return MockResponse(status: 500) }
            throw TransportFailure(.connectionFailed(.unreachable("refused")))
        }
        let session = Session.observed(transport)
        for path in ["good", "bad"] { _ = try? await backends { try await session.data("https://a.example/\(path)") } }
        #expect(backends.log.entries.map(\.message) == ["HTTP request has failed"])
        #expect(backends.log.entries.map(\.level) == [.warning])
        let quiet = Session.observed(transport, .with { $0.logLevels.failure = nil })
        _ = try? await backends { try await quiet.data("https://a.example/bad") }
        #expect(backends.log.entries.count == 1)
    }

    /// With neither metrics nor a tracer, responses that nothing logs cost no observation; a failure has its whole line.
    @Test func aFailureIsTheOnlyLineWithoutOtherBackends() async throws {
        let backends = Backends(level: .info)
        let transport = MockTransport { request in
            guard request.url.hasSuffix("/bad") else { return MockResponse(status: 404) }
            throw TransportFailure(.connectionFailed(.unreachable("refused")))
        }
        let session = Session.observed(transport, .with { $0.logger = backends.logger }) {
            $0.retry = RetryPolicy(retryLimit: 1, exponentialBackoffScale: .zero)
        }
        for path in ["good", "bad"] { _ = try? await session.data("https://a.example/\(path)") }
        let failures = backends.log.entries.filter { $0.level == .warning }
        #expect(failures.map(\.message) == ["HTTP request has failed", "HTTP request has failed"])
        #expect(failures.map { $0["http.request.resend_count"] } == [nil, "1"])
        #expect(failures.allSatisfy { $0["url.full"] == "https://a.example/bad" && $0["trellis.duration"] != nil })
    }

    @Test func aCancellationIsALineWithoutAnError() async throws {
        let backends = Backends()
        let gate = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await gate.opened()
            return .text("x")
        }
        let session = Session.observed(transport)
        let task = Task { try await backends { try await session.data(Self.url).0 } }
        try await transport.waitUntilRequested(count: 1)
        task.cancel()
        _ = try? await task.value
        await backends.waitForSpans(1)
        #expect(backends.log.entries.map(\.message) == ["HTTP request was cancelled"])
        #expect(backends.log.entries.first?["error.type"] == nil)
    }

    @Test func aCircuitThatOpensAndClosesIsALine() async throws {
        let backends = Backends()
        let (clock, statuses) = (TestClock(), MockTransport(statuses: [500, 500, 200]))
        var configuration = SessionConfiguration()
        configuration.observe()
        configuration.steps.circuitBreaker = CircuitBreaker(minimumRequests: 2, openDuration: .seconds(5))
        let session = Session(configuration: configuration, transport: statuses, clock: clock)
        for _ in 1...2 { _ = try await backends { try await session.data(Self.url) } }
        let lines = { backends.log.entries.filter { $0.level == .info } }
        #expect(lines().map(\.message) == ["Circuit has opened"])
        #expect(lines().first?["server.address"] == "ada.example")
        #expect(lines().first?["trellis.circuit.open_duration"] == "5.0")
        // The refused request was not sent.
        let error = await #expect(throws: TrellisError.self) {
            try await backends { try await session.data(Self.url) }
        }
        #expect(error?.kind == .circuitOpen && backends.spans.count == 2)
        clock.move(by: .seconds(5))
        _ = try await backends { try await session.data(Self.url) }
        #expect(lines().map(\.message) == ["Circuit has opened", "Circuit has closed"])
    }

    @Test func aResponseFromTheCacheIsALine() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in
            MockResponse(headers: [.cacheControl: "max-age=60"], body: Data("x".utf8))
        }
        let session = Session.observed(transport) { $0.steps.cache = HTTPCache() }
        for _ in 1...2 { _ = try await backends { try await session.data(Self.url) } }
        #expect(
            backends.log.entries.map(\.message)
                == ["HTTP response was received", "HTTP response comes from the cache"])
        #expect(backends.log.entries.last?["trellis.cache.result"] == "hit")
        // A response that no server has sent is neither a span nor a duration.
        #expect(backends.spans.count == 1)
        #expect(backends.metrics.timers(label: "http.client.request.duration").map(\.values.count) == [1])
        let counts = backends.metrics.counters(label: "trellis.client.cache").map { counter in
            (counter.dimensions.value(of: "trellis.cache.result") ?? "", counter.totalValue)
        }
        #expect(Dictionary(uniqueKeysWithValues: counts) == ["miss": 1, "hit": 1])
    }

    /// The path of a stream through the cache is another one.
    @Test func aStreamFromTheCacheIsCounted() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in
            MockResponse(headers: [.cacheControl: "max-age=60", .contentLength: "1"], body: Data("x".utf8))
        }
        let session = Session.observed(transport) { $0.steps.cache = HTTPCache() }
        for _ in 1...2 {
            _ = try await backends { try await session.stream(Self.url).chunks.collect(upTo: 10) }
        }
        #expect(transport.startedCount == 1 && backends.spans.count == 1)
        let results = backends.metrics.counters(label: "trellis.client.cache")
            .compactMap { $0.dimensions.value(of: "trellis.cache.result") }
        #expect(Set(results) == ["miss", "hit"])
    }

    @Test func theLevelsCanBeChosen() async throws {
        let backends = Backends(level: .notice)
        let session = Session.observed(
            MockTransport(statuses: [503, 200]),
            .with { ($0.logLevels.exchange, $0.logLevels.retry) = (.notice, .warning) }
        ) { $0.steps.intercept(with: RetryPolicy.once) }
        _ = try await backends { try await session.data(Self.url) }
        #expect(backends.log.entries.map(\.level) == [.notice, .warning, .notice])
    }

    @Test func linesCanBeSwitchedOff() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [503, 200]), .with { $0.logLevels = .off }) {
            $0.steps.intercept(with: RetryPolicy.once)
        }
        _ = try await backends { try await session.data(Self.url) }
        #expect(backends.log.entries.isEmpty && backends.spans.count == 2)
    }

    @Test func aLineIsInTheContextOfItsSpan() async throws {
        let provider = Logger.MetadataProvider {
            ServiceContext.current?.inMemorySpanContext.map { ["span": "\($0.spanID)"] } ?? [:]
        }
        let backends = Backends(metadataProvider: provider)
        _ = try await backends { try await Session.observed(MockTransport(statuses: [200])).data(Self.url) }
        #expect(backends.log.entries.first?["span"] == backends.spans.first?.spanID)
        #expect(backends.spans.count == 1)
    }
}
#endif
