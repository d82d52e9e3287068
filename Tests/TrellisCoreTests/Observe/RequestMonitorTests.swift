import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// The monitors of one request.
@Suite(.timeLimit(.minutes(3)))
struct RequestMonitorTests {
    private static let url = "http://a.example/"
    private static let course = [
        "created", "queued", "admitted", "connected", "sent", "head 200", "ended", "finished 200",
    ]

    @Test(.trellis(.mock { _ in .text("hello") }))
    func aMonitorGetsTheEventsOfItsRequestAlone() async throws {
        let session = try #require(Session.current)
        let monitor = EventWords()
        for isMonitored in [false, true, false] {
            let request = Request(Self.url)
            _ = try await session.data(isMonitored ? request.withEventMonitor(monitor) : request)
            #expect(!session.hub.isObserved)
        }
        #expect(try await monitor.words(until: "finished 200") == Self.course)
        await session.shutdown()
        #expect(monitor.words == Self.course && Set(monitor.all.map(\.callID)).count == 1)
    }

    /// A request without monitors is a single exchange, without the objects of a call.
    @Test func otherRequestsAreNotObserved() async throws {
        let session = Session(transport: MockTransport { _ in .text("hello") })
        let monitored = session.request(Request(Self.url).withEventMonitor(EventWords()))
        let answer = try await session.answer(try Request(Self.url).asRequest())
        #expect(answer.observer == nil)
        #expect(try await monitored.string() == "hello")
    }

    @Test func theMonitorsOfTheSessionGetTheEventsToo() async throws {
        let own = EventWords(.calls), others = EventWords()
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [others]
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        _ = try await session.data(Self.url)
        _ = try await session.data(Request(Self.url).withEventMonitor(own))
        await session.shutdownAfterEvents()
        #expect(own.words == ["created", "finished 200"] && others.words == Self.course + Self.course)
    }

    @Test(
        .trellis(
            TransportProvider {
                let redirect = MockResponse(status: 302, headers: [.location: "http://b.example/b"])
                return MockTransport(responses: [MockResponse(status: 503), redirect, .text("hello")])
            }), arguments: [true, false])
    func attemptsAndRedirectsBelongToTheRequest(_ isHandle: Bool) async throws {
        let session = try #require(Session.current)
        let monitor = EventWords()
        let request = Request(Self.url)
            .withRetrier(Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
            .withEventMonitor(monitor)
        if isHandle {
            _ = try await session.request(request).data()
        } else {
            _ = try await session.data(request)
        }
        await session.shutdownAfterEvents()
        func exchange(_ status: Int) -> [String] {
            ["queued", "admitted", "connected", "sent", "head \(status)", "ended"]
        }
        #expect(
            monitor.words == ["created"] + exchange(503) + ["retrying"] + exchange(302) + ["redirected 302"]
                + exchange(200) + ["finished 200"])
        #expect(monitor.all.map(\.attempt) == Array(repeating: 1, count: 8) + Array(repeating: 2, count: 14))
    }

    @Test(.trellis(.mock { _ in .json("[1]") }))
    func readingIsAnEvent() async throws {
        let session = try #require(Session.current)
        let monitor = EventWords(.calls)
        let request = Request(Self.url).withEventMonitor(monitor)
        #expect(try await session.decode([Int].self, from: request) == [1])
        await session.shutdownAfterEvents()
        #expect(monitor.words == ["created", "finished 200", "validated", "serialized"])
    }

    // MARK: Attachment

    @Test func monitorsAndStepsAreIndependent() {
        let monitor = EventWords()
        let plain = Request(Self.url)
        #expect(plain.eventMonitors.isEmpty && plain.attachment == nil)
        var request = plain.withEventMonitor(monitor)
        #expect(request.steps == nil && request.eventMonitors.count == 1)
        request = request.withAdapter(Adapter { request, _ in request })
        #expect(request.steps?.adapters.count == 1 && request.eventMonitors.count == 1)
        request = request.withEventMonitor(monitor)
        #expect(request.steps?.adapters.count == 1 && request.eventMonitors.count == 2)
        let identity = request.attachedSteps?.identity
        request.eventMonitors = []
        #expect(request.steps?.adapters.count == 1 && request.attachedSteps?.identity == identity)
        request.steps = nil
        #expect(request.attachment == nil)
    }

    /// A monitor changes nothing about the request: it shares the response of an identical one.
    @Test func aMonitoredRequestSharesAResponse() async throws {
        var configuration = SessionConfiguration()
        let flight = RequestCoalescing()
        configuration.steps.application = [flight]
        let transport = ScriptedTransport()
        let session = Session(configuration: configuration, transport: transport)
        let monitors = [EventWords(), EventWords()]
        let requests = [Request(Self.url)] + monitors.map { Request(Self.url).withEventMonitor($0) }
        var tasks: [Task<(Data, Response), any Error>] = []
        for request in [requests[1], requests[0], requests[2]] {
            tasks.append(Task { try await session.data(request) })
            while flight.waitingCount < tasks.count, !Task.isCancelled { await Task.yield() }
        }
        let attempt = try await transport.nextAttempt()
        attempt.respond()
        for task in tasks { _ = try await task.value }
        #expect(transport.attempts.count == 1)
        for monitor in monitors {
            #expect(
                try await monitor.words(until: "finished 200") == ["created", "coalesced", "finished 200"])
        }
        await session.shutdown()
    }

    @Test(
        .trellis(
            .router { $0.route(.get, "/").then(MockResponse(headers: [.cacheControl: "max-age=60"])) },
            .session { $0.steps.cache = HTTPCache() }))
    func aStoredResponseHasEventsToo() async throws {
        let session = try #require(Session.current)
        let monitor = EventWords(.calls)
        _ = try await session.data(Self.url)
        _ = try await session.data(Request(Self.url).withEventMonitor(monitor))
        await session.shutdownAfterEvents()
        #expect(monitor.words.count == 3 && monitor.words[1].hasPrefix("cache ") && monitor.words[1].contains("hit"))
    }

    // MARK: Delivery

    @Test func lossesBelongToTheCall() async throws {
        let gate = LoopbackServer.Gate(), hasBegun = LoopbackServer.Gate(), events = Locked<[RequestEvent]>([])
        var configuration = SessionConfiguration()
        configuration.eventBufferSize = 2
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        let monitor = ClosureEventMonitor { event in
            hasBegun.open()
            try? await gate.opened()
            events.withLock { $0.append(event) }
        }
        let handle = session.request(Request(Self.url).withEventMonitor(monitor))
        try await hasBegun.opened()
        _ = try await handle.data()
        await session.settle()
        gate.open()
        await session.shutdownAfterEvents()
        let all = events.withLock { $0 }
        #expect(all.map(\.word) == ["created", "dropped 5", "ended", "finished 200"])
        #expect(session.droppedEventCount == 5 && Set(all.map(\.callID)).count == 1 && all[0].callID > 0)
    }

    @Test(.trellis(.mock { _ in .text("hello") }))
    func theShutdownWaitsForTheMonitorsOfRequests() async throws {
        let gate = LoopbackServer.Gate(), words = Locked<[String]>([])
        let session = try #require(Session.current)
        let monitor = ClosureEventMonitor(detail: .calls) { event in
            try? await gate.opened()
            for _ in 0..<20 { await Task.yield() }
            words.withLock { $0.append(event.word) }
        }
        for _ in 0..<5 { _ = try await session.data(Request(Self.url).withEventMonitor(monitor)) }
        gate.open()
        // The wait of a shutdown, which has two seconds of the system's time.
        await session.hub.finish(within: .seconds(50))
        await session.shutdown()
        #expect(words.withLock { $0.count { $0 == "finished 200" } } == 5)
    }

    // MARK: Release

    /// A monitor that keeps no events, because an event may hold the request and so its monitor.
    private final class EndMonitor: EventMonitor {
        let gate = LoopbackServer.Gate()

        func handle(_ event: RequestEvent) async {
            if case .finished = event.kind { gate.open() }
        }
    }

    /// Transports that record their requests.
    private static func recordingTransports() -> [any Transport] {
        let router = MockRouter()
        router.route(.get, "/").respond(with: .text("hello"))
        return [MockTransport { _ in .text("hello") }, MockTransport.immediate { _ in .text("hello") }, router]
    }

    @Test(arguments: 0..<3)
    func aMonitorIsReleasedAfterItsLastEvent(_ index: Int) async throws {
        let session = Session(transport: Self.recordingTransports()[index])
        weak var monitor: EndMonitor?
        do {
            let end = EndMonitor()
            monitor = end
            _ = try await session.data(Request(Self.url).withEventMonitor(end))
            try await end.gate.opened()
        }
        while monitor != nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        await session.shutdown()
    }

    @Test func aMonitorIsReleasedWhileAScriptedTransportKeepsItsAttempts() async throws {
        let transport = ScriptedTransport()
        let session = Session(transport: transport)
        weak var monitor: EndMonitor?
        do {
            let end = EndMonitor()
            monitor = end
            let call = Task { try await session.data(Request(Self.url).withEventMonitor(end)) }
            let attempt = try await transport.nextAttempt()
            attempt.respond()
            _ = try await call.value
            try await end.gate.opened()
        }
        while monitor != nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(transport.attempts.count == 1)
        await session.shutdown()
    }
}
