import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// The stages of calls without an actor: they are those of other calls.
@Suite(.timeLimit(.minutes(3)))
struct CallWithoutActorStagesTests {
    /// A network step that changes nothing. A call with such a step has an actor.
    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    // MARK: Time

    @Test(arguments: [true, false])
    func aCallWhoseTimeIsOverBeforeItsExchangeIsNotSent(_ isDirect: Bool) async throws {
        let scripted = Scripted {
            $0.steps.circuitBreaker = CircuitBreaker(minimumRequests: 1)
            if !isDirect { $0.steps.network = [Passing()] }
        }
        let late = Request("http://localhost/").withTimeouts(Timeouts(total: .seconds(5))).withAdapter(
            Adapter { [clock = scripted.clock] request, _ in
                clock.move(by: .seconds(10))
                return request
            })
        let error = await #expect(throws: TrellisError.self) { try await scripted.session.data(late) }
        #expect(error?.reason == .timedOut(.total))
        #expect(error?.attemptCount == 0)
        #expect(error?.mayHaveSentBytes == false)
        if isDirect { #expect(error?.phase == .queued) }
        #expect(scripted.transport.attempts.isEmpty)
        // The circuit is closed.
        async let answer = scripted.session.data("http://localhost/next")
        try await scripted.transport.nextAttempt().respond()
        #expect(try await answer.1.status == .ok)
        await scripted.session.settle()
        #expect(await scripted.liveCount == 0)
    }

    @Test(arguments: [true, false])
    func theTimeOfAdaptersIsNotATimeInTheQueue(_ isDirect: Bool) async throws {
        let scripted = Scripted { if !isDirect { $0.steps.network = [Passing()] } }
        let request = Request("http://localhost/").withAdapter(
            Adapter { [clock = scripted.clock] request, _ in
                clock.move(by: .seconds(3))
                return request
            })
        async let answer = scripted.session.data(request)
        try await scripted.transport.nextAttempt().respond()
        let metrics = try await answer.1.metrics
        #expect(metrics.queued == .zero)
        #expect(metrics.total == .seconds(3))
    }

    /// The limit that an adapter sets for an earlier attempt is not the reason why the call ends at its deadline.
    @Test(arguments: [true, false])
    func theDeadlineIsNotTheTimeoutOfAnEarlierAttempt(_ isDirect: Bool) async throws {
        let scripted = Scripted { if !isDirect { $0.steps.network = [Passing()] } }
        let begun = LoopbackServer.Gate()
        let request = Request("http://localhost/").withTimeouts(Timeouts(total: .seconds(50)))
            .withRetrier(Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
            .withAdapter(
                Adapter { request, context in
                    if context.attempt == 1 { return request.withTimeouts(Timeouts(total: .seconds(5))) }
                    begun.open()
                    try await context.wait(for: .seconds(100))
                    return request
                })
        let call = Task { [session = scripted.session] in try await session.data(request) }
        _ = try await scripted.transport.nextAttempt()
        await scripted.advance(by: .seconds(5))
        try await begun.opened()
        await scripted.advance(by: .seconds(45))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.reason == .timedOut(.total))
        #expect(error?.elapsed == .seconds(50))
        #expect(error?.detail == "a step around the request was at work")
    }

    // MARK: The end of the call

    /// The numbers of the adapters that were called.
    private final class Called: Sendable {
        let numbers = Locked<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }

        func adapter(
            _ number: Int, _ body: @escaping @Sendable () -> Void = {}
        ) -> Adapter {
            Adapter { request, _ in
                self.numbers.withLock { $0.append(number) }
                body()
                return request
            }
        }
    }

    @Test func noAdapterIsCalledAfterTheTaskIsCancelled() async throws {
        let scripted = Scripted(), called = Called()
        let request = Request("http://localhost/")
            .withAdapter(called.adapter(1) { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } })
            .withAdapter(called.adapter(2))
        #expect(await outcome { "\(try await scripted.session.data(request).1.status.code)" }.value == .taskCancelled)
        #expect(called.all == [1])
        #expect(scripted.transport.attempts.isEmpty)
    }

    @Test func noAdapterIsCalledAfterTheDeadline() async throws {
        let scripted = Scripted(), called = Called(), hanging = StepEndTests.Hanging()
        let request = Request("http://localhost/").withTimeouts(Timeouts(total: .seconds(5)))
            .withAdapter(hanging).withAdapter(called.adapter(1))
        let call = outcome { "\(try await scripted.session.data(request).1.status.code)" }
        try await hanging.begun.opened()
        await scripted.advance(by: .seconds(5))
        hanging.end.open()
        #expect(await call.value == .failed(.timedOut(.total)))
        #expect(called.all == [])
    }

    // MARK: The list of requests

    /// An adapter that blocks its thread until the test ends that.
    private struct Blocking {
        let begun = LoopbackServer.Gate()
        let mayEnd = DispatchSemaphore(value: 0)

        func adapt(_ request: Request) -> Request {
            begun.open()
            mayEnd.waitForTest()
            return request
        }
    }

    /// - Parameter mayWait: Whether an adapter behind the blocking one may wait.
    @Test(arguments: [true, false])
    func aCallWhoseFirstAdapterRunsIsListedAndCancelled(_ mayWait: Bool) async throws {
        let scripted = Scripted(), called = Called(), blocking = Blocking()
        var request = Request("http://localhost/").withAdapter(Adapter { request, _ in blocking.adapt(request) })
        if mayWait { request = request.withAdapter(StepEndTests.Hanging()) }
        request = request.withAdapter(called.adapter(1))
        let call = outcome { [request] in "\(try await scripted.session.data(request).1.status.code)" }
        try await blocking.begun.opened()
        // The actor of a call whose adapters may wait is listed by its engine's thread.
        while await scripted.session.liveRequests.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(await scripted.session.liveRequests.map(\.url) == ["http://localhost/"])
        await scripted.session.cancelAllRequests()
        blocking.mayEnd.signal()
        #expect(await call.value == .failed(.cancelled(.explicitly)))
        #expect(called.all == [])
        #expect(scripted.transport.attempts.isEmpty)
        #expect(await scripted.session.liveRequests.isEmpty)
    }

    @Test func aCallWhoseLastAdapterRunsIsCancelled() async throws {
        let scripted = Scripted(), blocking = Blocking()
        let request = Request("http://localhost/").withAdapter(Adapter { request, _ in blocking.adapt(request) })
        let call = outcome { "\(try await scripted.session.data(request).1.status.code)" }
        try await blocking.begun.opened()
        await scripted.session.cancelAllRequests()
        blocking.mayEnd.signal()
        #expect(await call.value == .failed(.cancelled(.explicitly)))
        #expect(scripted.transport.attempts.isEmpty)
        // The session still sends requests.
        async let answer = scripted.session.data("http://localhost/next")
        try await scripted.transport.nextAttempt().respond()
        #expect(try await answer.1.status == .ok)
    }

    /// The end of a session's requests while the first adapter of a call runs.
    enum End: CaseIterable, Sendable { case drain, cancelAll }

    /// The response is stored, so that the call has neither an actor nor an exchange.
    @Test(arguments: End.allCases)
    func aCallInFlightWhoseResponseIsStoredEndsAsOneThatIsSent(_ end: End) async throws {
        let world = CacheWorld { _ in CacheWorld.response("one") }
        let session = try world.session, blocking = Blocking()
        #expect(try await world.get()[0] == "one")
        let request = Request(CacheWorld.url).withAdapter(Adapter { request, _ in blocking.adapt(request) })
        let call = outcome { try await world.get(request)[1] }
        try await blocking.begun.opened()
        switch end {
        case .drain: session.life.beginDrain()
        case .cancelAll: await session.cancelAllRequests()
        }
        blocking.mayEnd.signal()
        #expect(
            await call.value == (end == .drain ? .answer("trellis; hit; ttl=60") : .failed(.cancelled(.explicitly))))
        if end == .drain {
            let error = await #expect(throws: TrellisError.self) { try await world.get() }
            #expect(error?.reason == .cancelled(.sessionShutDown))
        }
        await world.shutDown()
    }

    @Test func theListShowsTheRequestBeforeItsAdapters() async throws {
        let scripted = Scripted { $0.baseURL = "http://localhost" }
        let request = Request("/a").withAdapter(
            Adapter { request, _ in
                var request = request
                request.method = .put
                request.url += "?shibboleth=1"
                return request
            })
        let call = outcome { "\(try await scripted.session.data(request).1.status.code)" }
        _ = try await scripted.transport.nextAttempt()
        let live = await scripted.session.liveRequests
        #expect(live.map(\.url) == ["http://localhost/a"])
        #expect(live.map(\.method) == [.get])
        await scripted.session.cancelAllRequests()
        #expect(await call.value == .failed(.cancelled(.explicitly)))
    }
}
