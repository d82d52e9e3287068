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

/// The backends of a request are those of the task that makes it, on every path through the framework.
@Suite(.timeLimit(.minutes(3)))
struct TaskLocalTests {
    private static let url = "https://api.example.com/"

    /// Expects one request in each of the backends.
    private static func expectOne(_ backends: Backends, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(backends.spans.map(\.operationName) == ["GET"], sourceLocation: sourceLocation)
        #expect(backends.log.entries.count == 1, sourceLocation: sourceLocation)
        let timers = backends.metrics.timers(label: "http.client.request.duration")
        #expect(timers.map(\.values.count) == [1], sourceLocation: sourceLocation)
    }

    @Test func twoTasksAtOnceHaveTheirOwnBackends() async throws {
        let gate = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await gate.opened()
            return .text("x")
        }
        let session = Session.observed(transport)
        let all = [Backends(), Backends()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for backends in all { group.addTask { try await backends { _ = try await session.data(Self.url) } } }
            try await transport.waitUntilRequested(count: 2)
            #expect(all.map { $0.tracer.activeSpans.count } == [1, 1])
            gate.open()
            try await group.waitForAll()
        }
        for backends in all { Self.expectOne(backends) }
    }

    @Test func aTaskWithoutBackendsIsNotObserved() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport)
        let backends = Backends()
        _ = try await session.data(Self.url)
        _ = try await backends { try await session.data(Self.url) }
        Self.expectOne(backends)
    }

    @Test func aStreamHasTheBackendsOfItsTask() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("x") })
        let body = try await backends { try await session.stream(Self.url).chunks.collect(upTo: 10) }
        #expect(body == Data("x".utf8))
        Self.expectOne(backends)
    }

    @Test func aHandleHasTheBackendsOfTheTaskThatStartsIt() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("x") })
        let handle = session.request(Self.url)
        _ = try await backends { try await handle.data() }
        _ = try await handle.data()
        Self.expectOne(backends)
    }

    /// Backends are the user's code, which runs on no engine thread.
    @Test func aTaskOnTheSessionsExecutorHasItsBackends() async throws {
        let backends = Backends(metadataProvider: .init { ["engine": "\(CallingThread.isEngine)"] })
        let session = Session.observed(MockTransport { _ in .text("x") })
        _ = try await backends {
            try await withTaskExecutorPreference(session.executor) { try await session.data(Self.url).0 }
        }
        Self.expectOne(backends)
        #expect(backends.log.entries.first?["engine"] == "false")
    }

    @Test func aSharedCallHasTheBackendsOfTheFirstCaller() async throws {
        let gate = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await gate.opened()
            return .text("x")
        }
        let session = Session.observed(transport) { $0.steps.application.append(RequestCoalescing()) }
        let (first, second) = (Backends(), Backends())
        async let one = first { try await session.data(Self.url).0 }
        try await transport.waitUntilRequested(count: 1)
        async let two = second { try await session.data(Self.url).0 }
        await session.settle()
        gate.open()
        _ = try await (one, two)
        #expect(transport.startedCount == first.spans.count + second.spans.count)
        #expect(first.spans.count == 1)
    }

    /// The validation of a stale response in the background is a call of its own.
    @Test func aValidationInTheBackgroundHasTheBackendsOfItsTask() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in
            MockResponse(headers: [.cacheControl: "max-age=0, stale-while-revalidate=60"], body: Data("x".utf8))
        }
        let session = Session.observed(transport) { $0.steps.cache = HTTPCache() }
        for count in 1...2 {
            _ = try await backends { try await session.data(Self.url) }
            await backends.waitForSpans(count)
        }
        #expect(backends.spans.map(\.operationName) == ["GET", "GET"])
    }

    @Test func aDownloadHasTheBackendsOfItsTask() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("x") })
        let file = try await backends { try await session.download(Self.url) }
        try? FileManager.default.removeItem(atPath: file.path)
        Self.expectOne(backends)
    }

    @Test func aCallWithAdaptersThatWaitHasTheBackendsOfItsTask() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("x") }) {
            $0.steps.adapters.append(
                Adapter { request, _ in
                    await Task.yield()
                    return request
                })
        }
        _ = try await backends { try await session.data(Self.url) }
        Self.expectOne(backends)
    }

    @Test func theBackendsOfTheSettingsReplaceTheTasks() async throws {
        let (fixed, others) = (Backends(), Backends())
        let session = Session.observed(
            MockTransport { _ in .text("x") },
            .with { ($0.logger, $0.tracer, $0.metricsFactory) = (fixed.logger, fixed.tracer, fixed.metrics) })
        _ = try await others { try await session.data(Self.url) }
        Self.expectOne(fixed)
        #expect(others.spans.isEmpty && others.log.entries.isEmpty && others.metrics.timers.isEmpty)
    }

    @Test func aRequestMayHaveItsOwnObservation() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("x") })
        let request = Request(Self.url).withSteps { steps in steps.observe(with: .with { $0.createsSpans = false }) }
        _ = try await backends { try await session.data(request) }
        #expect(backends.spans.isEmpty && backends.log.entries.count == 1)
    }
}
#endif
