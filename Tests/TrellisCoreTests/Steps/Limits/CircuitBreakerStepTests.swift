import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// Sessions with a circuit breaker.
@Suite(.timeLimit(.minutes(3)))
struct CircuitBreakerStepTests {
    /// A host that responds or fails, and a session.
    struct World {
        let clock = TestClock()
        let transport: MockTransport
        let session: Session
        let status = Locked(503)

        init(minimumRequests: Int = 2, _ change: (inout SessionConfiguration) -> Void = { _ in }) {
            var configuration = SessionConfiguration()
            configuration.steps.circuitBreaker = CircuitBreaker(minimumRequests: minimumRequests)
            change(&configuration)
            transport = MockTransport { [status] _ in MockResponse(status: status.withLock { $0 }) }
            session = Session(configuration: configuration, transport: transport, clock: clock)
        }

        @discardableResult
        func send(_ request: Request = Request("http://a.example/")) async throws -> Response {
            try await session.data(request).1
        }

        func openCircuit() async throws { for _ in 0..<2 { try await send() } }
    }

    @Test func anOpenCircuitFailsAtOnceAndClosesAfterASuccess() async throws {
        let world = World()
        try await world.openCircuit()
        let error = await #expect(throws: TrellisError.self) { try await world.send() }
        #expect(error?.kind == .circuitOpen)
        #expect(error?.method == .get)
        #expect(error?.attemptCount == 0)
        #expect(error?.mayHaveSentBytes == false)
        #expect(
            error?.description
                == "GET http://a.example/: the circuit to a.example is open after 2 of 2 requests failed; "
                + "next attempt in 5.0 s")
        #expect(world.transport.startedCount == 2)
        try await world.send(Request("http://b.example/"))
        world.status.withLock { $0 = 200 }
        world.clock.move(by: .seconds(5))
        for _ in 0..<3 { #expect(try await world.send().status == .ok) }
    }

    @Test func aRetryIsRefusedToo() async throws {
        let world = World()
        let request = Request("http://a.example/").withRetrier(
            Retrier { attempt, _ in attempt.error == nil ? .retry : .doNotRetry })
        let error = await #expect(throws: TrellisError.self) { try await world.send(request) }
        #expect(error?.kind == .circuitOpen)
        #expect(error?.attemptCount == 2)
        #expect(world.transport.startedCount == 2)
    }

    @Test func aRetryPolicyDoesNotInsist() async throws {
        let world = World { $0.steps.intercept(with: RetryPolicy(budget: nil) { 0 }) }
        let error = await #expect(throws: TrellisError.self) { try await world.send() }
        #expect(error?.kind == .circuitOpen)
        #expect(world.transport.startedCount == 2)
    }

    enum Leaving: CaseIterable { case cancelledTask, cancelledHandle, deadline }

    @Test(arguments: Leaving.allCases)
    func aProbeThatIsGivenUpIsFollowedByAnother(_ leaving: Leaving) async throws {
        var configuration = SessionConfiguration()
        let breaker = CircuitBreaker(minimumRequests: 1)
        configuration.steps.circuitBreaker = breaker
        let clock = TestClock()
        let transport = ScriptedTransport(clock: clock)
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let handle = session.request(Request("http://a.example/").withTimeouts(Timeouts(total: .seconds(9))))
        let first = Task { try await session.data("http://a.example/").1 }
        try await transport.nextAttempt().respond(status: 503)
        _ = try await first.value
        clock.move(by: .seconds(5))
        let probe = Task { try await handle.data() }
        let attempt = try await transport.nextAttempt()
        let refused = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/") }
        #expect(refused?.kind == .circuitOpen)
        switch leaving {
        case .cancelledTask: probe.cancel()
        case .cancelledHandle: handle.cancel()
        case .deadline: clock.move(by: .seconds(9))
        }
        await #expect(throws: (any Error).self) { try await probe.value }
        try await attempt.wait(for: .cancel)
        // The permit is returned after the call has ended.
        if leaving == .deadline {
            // A host that received the request and did not answer in time counts as failed.
            while breaker.refusal(host: "a.example", at: clock.engineSide.now())?.nextAttempt == nil, !Task.isCancelled
            {
                await Task.yield()
            }
            #expect(breaker.refusal(host: "a.example", at: clock.engineSide.now())?.nextAttempt == .seconds(5))
            clock.move(by: .seconds(5))
        }
        while (try? breaker.check(host: "a.example", at: clock.engineSide.now())) == nil, !Task.isCancelled {
            await Task.yield()
        }
        let next = Task { try await session.data("http://a.example/").1 }
        try await transport.nextAttempt().respond(status: 200)
        #expect(try await next.value.status == .ok)
    }

    @Test func openingAndClosingAreEvents() async throws {
        let world = World()
        let events = world.session.requestEvents
        try await world.openCircuit()
        await #expect(throws: TrellisError.self) { try await world.send() }
        world.clock.move(by: .seconds(5))
        try await world.send()
        world.status.withLock { $0 = 200 }
        world.clock.move(by: .seconds(5))
        try await world.send()
        var calls: [UInt64: [String]] = [:]
        for await event in events {
            calls[event.callID, default: []].append(event.word)
            if calls.count == 5, event.word.hasPrefix("finished") { break }
        }
        let attempt = ["created", "queued", "admitted", "connected", "sent"]
        let ill = attempt + ["head 503", "ended"], isOpen = "circuitOpened a.example 5.0 seconds"
        #expect(
            calls.sorted { $0.key < $1.key }.map(\.value) == [
                ill + ["finished 503"], ill + [isOpen, "finished 503"], ["created", "failed circuit_open"],
                ill + [isOpen, "finished 503"],
                attempt + ["head 200", "ended", "circuitClosed a.example", "finished 200"],
            ])
    }

    @Test func aServerThatNeverAnswersInTimeHasFailed() async throws {
        let clock = TestClock()
        var configuration = SessionConfiguration()
        configuration.steps.circuitBreaker = CircuitBreaker(minimumRequests: 2)
        configuration.timeouts = Timeouts(total: .seconds(1))
        let transport = ScriptedTransport(clock: clock)
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let events = session.requestEvents
        for isConnected in [true, false] {
            let task = Task { try await session.data("http://a.example/") }
            let attempt = try await transport.nextAttempt()
            if isConnected { attempt.connect() }
            await session.settle()
            clock.move(by: .seconds(1))
            let error = await #expect(throws: TrellisError.self) { try await task.value }
            #expect(error?.kind == .totalTimeout)
        }
        for await event in events where event.word.hasPrefix("circuitOpened") { break }
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/") }
        #expect(error?.kind == .circuitOpen)
    }

    @Test func aStepThatAnswersItselfTakesNoPermit() async throws {
        struct Canned: RequestStep {
            func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
                StepResponse(to: request, status: .ok)
            }
        }
        let world = World()
        try await world.openCircuit()
        world.clock.move(by: .seconds(5))
        let canned = Request("http://a.example/").withSteps { $0.network = [Canned()] }
        for _ in 0..<3 { try await world.send(canned) }
        world.status.withLock { $0 = 200 }
        #expect(try await world.send().status == .ok)
    }

    @Test func aStreamHasSucceededWithItsHead() async throws {
        let world = World()
        try await world.openCircuit()
        world.status.withLock { $0 = 200 }
        world.clock.move(by: .seconds(5))
        let stream = try await world.session.stream("http://a.example/")
        // The body of the response has not been read yet.
        #expect(try await world.send().status == .ok)
        _ = try await stream.finalResponse()
    }

    @Test func anOpenCircuitIsNotWaitedForInTheQueueOfTheRate() async throws {
        let world = World { $0.steps.limit(rate: RateLimit(requestsPerSecond: 0.001, burst: 2)) }
        try await world.openCircuit()
        let error = await #expect(throws: TrellisError.self) { try await world.send() }
        #expect(error?.kind == .circuitOpen)
    }

    @Test func sessionsWithTheSameBreakerKnowTheSame() async throws {
        let world = World()
        try await world.openCircuit()
        var configuration = SessionConfiguration()
        configuration.steps.circuitBreaker = world.session.configuration.steps.circuitBreaker
        let other = Session(configuration: configuration, transport: world.transport, clock: world.clock)
        let error = await #expect(throws: TrellisError.self) { try await other.data("http://a.example/") }
        #expect(error?.kind == .circuitOpen)
    }

    /// A cache lets equal requests wait for one that is under way, but not for one that was refused and is retried later.
    @Test func anEqualRequestDoesNotWaitForOneThatWasRefused() async throws {
        let count = Locked(0)
        let world = World { configuration in
            configuration.steps.cache = HTTPCache()
            configuration.steps.retriers = [
                Retrier { attempt, _ in
                    attempt.error != nil && count.next() == 1 ? .retryWithDelay(.seconds(1)) : .doNotRetry
                }
            ]
        }
        try await world.openCircuit()
        let first = Task { try await world.send() }
        while count.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        let error = await #expect(throws: TrellisError.self) { try await world.send() }
        #expect(error?.kind == .circuitOpen)
        first.cancel()
        _ = try? await first.value
    }
}
