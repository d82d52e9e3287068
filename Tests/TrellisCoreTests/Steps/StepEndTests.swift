import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The ends of calls with steps: at the deadline, by cancellation, by a shutdown, for steps of any behaviour.
@Suite(.timeLimit(.minutes(3)))
struct StepEndTests {
    /// An adapter that ignores its cancellation until the test opens a gate.
    struct Hanging: RequestAdapter {
        let begun = LoopbackServer.Gate()
        let end = LoopbackServer.Gate()
        func adapt(_ request: Request, context: CallContext) async throws -> Request {
            begun.open()
            let end = end
            await Task { try? await end.opened() }.value
            return request
        }
    }

    /// A call whose step ignores the deadline throws the deadline's error, once the step has returned: a verb's steps run in its
    /// caller's task, and none outlives its call.
    @Test(arguments: [true, false])
    func theDeadlineIsTheErrorOfACallWhoseStepTookNoNotice(_ isHandle: Bool) async throws {
        let clock = TestClock()
        let transport = MockTransport { _ in MockResponse() }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: clock)
        let adapter = Hanging()
        var request = Request("http://a.example/").withAdapter(adapter)
        request.timeouts = Timeouts(total: .seconds(5))
        let answer = Task { [request] in
            isHandle ? try await session.request(request).data() : try await session.data(request).0
        }
        try await adapter.begun.opened()
        await session.settle()
        clock.move(by: .seconds(5))
        await session.settle()
        if !isHandle { adapter.end.open() }
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.elapsed == .seconds(5))
        if isHandle { adapter.end.open() }
        await session.settle()
        #expect(transport.startedCount == 0)
    }

    @Test func aStepHasEndedWhenItsCallReturns() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse() })
        let begun = LoopbackServer.Gate()
        let diary = StepOrderTests.Diary()
        let answer = Task {
            defer { diary.write("call") }
            _ = try await session.data(
                Request("http://a.example/").withAdapter(
                    Adapter { request, _ in
                        defer { diary.write("step") }
                        begun.open()
                        try await LoopbackServer.Gate().opened()
                        return request
                    }))
        }
        try await begun.opened()
        answer.cancel()
        await #expect(throws: CancellationError.self) { try await answer.value }
        #expect(diary.all == ["step", "call"])
    }

    /// The task of a step is cancelled at the deadline, too.
    @Test func aRetrierIsCancelledAtTheDeadline() async throws {
        let clock = TestClock()
        let transport = MockTransport { _ in MockResponse(status: 503) }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: clock)
        let begun = LoopbackServer.Gate()
        let request = Request("http://a.example/").withTimeouts(Timeouts(total: .seconds(5))).withRetrier(
            Retrier { _, _ in
                begun.open()
                try? await LoopbackServer.Gate().opened()
                return .retry
            })
        let answer = Task { try await session.data(request) }
        try await begun.opened()
        await session.settle()
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .totalTimeout)
        #expect(transport.startedCount == 1)
    }

    @Test func theAttemptsErrorIsTheCallsAtTheDeadline() async throws {
        let scripted = Scripted.narrow
        let (blocker, _) = try await scripted.block()
        let clock = scripted.clock
        var request = Request("http://localhost/").withAdapter(Adapter { request, _ in request })
        request.timeouts = Timeouts(total: .seconds(5))
        let answer = Task { [request, session = scripted.session] in try await session.data(request) }
        await scripted.session.settle()
        await scripted.waitUntilLive(count: 2)
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.phase == .queued)
        #expect(error?.detail?.contains("in use") == true)
        blocker.cancel()
    }

    @Test func aRetryThatCannotBeginBeforeTheDeadlineIsNotBegun() async throws {
        let transport = MockTransport { _ in MockResponse(status: 503) }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        var request = Request("http://a.example/").withRetrier(Retrier { _, _ in .retryWithDelay(.seconds(10)) })
        request.timeouts = Timeouts(total: .seconds(10))
        let (_, response) = try await session.data(request)
        #expect(response.status.code == 503)
        #expect(transport.startedCount == 1)
    }

    @Test func aDelayIsWaitedOnTheSessionsClock() async throws {
        let clock = TestClock()
        let transport = MockTransport { _ in MockResponse(status: 503) }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: clock)
        let retrier = Retrier { _, context in context.attempt == 1 ? .retryWithDelay(.seconds(3)) : .doNotRetry }
        let answer = Task { try await session.data(Request("http://a.example/").withRetrier(retrier)) }
        // The clock stands still until the pause has begun.
        await clock.waitForSleepers()
        await clock.advance(by: .seconds(3) - .nanoseconds(1))
        #expect(transport.startedCount == 1)
        await clock.advance(by: .nanoseconds(1))
        #expect(try await answer.value.1.metrics.attemptCount == 2)
    }

    @Test func suspendingHoldsUpTheNextAttempt() async throws {
        let scripted = Scripted()
        let handle = scripted.session.request(
            Request("http://localhost/").withRetrier(
                Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry }))
        handle.resume()
        let first = try await scripted.transport.nextAttempt()
        handle.suspend()
        first.respond(status: 503)
        await scripted.session.settle()
        #expect(await handle.state == .suspended)
        #expect(scripted.transport.attempts.count == 1)
        handle.resume()
        let second = try await scripted.transport.nextAttempt()
        second.respond()
        #expect(try await handle.response(of: .data).metrics.attemptCount == 2)
    }

    @Test func taskLocalValuesReachTheSteps() async throws {
        enum Trace { @TaskLocal static var id = "none" }
        let session = Session(transport: MockTransport { _ in MockResponse() })
        let seen = Locked("")
        let request = Request("http://a.example/").withAdapter(
            Adapter { request, _ in
                seen.withLock { $0 = Trace.id }
                return request
            })
        try await Trace.$id.withValue("42") { _ = try await session.data(request) }
        #expect(seen.withLock { $0 } == "42")
    }
}
