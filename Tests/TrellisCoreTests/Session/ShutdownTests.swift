import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// The shutdown of a session: drained, then cancelled.
@Suite(.timeLimit(.minutes(3)))
struct ShutdownTests {
    let scripted = Scripted.narrow

    private func inFlight() async throws -> (Task<Outcome, Never>, ScriptedAttempt) {
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await scripted.session.settle()
        return (task, attempt)
    }

    /// Begins the shutdown while a step waits, opens its gate, and expects that its request is sent, and is answered.
    private func expectAnswer(
        _ scripted: Scripted, _ gate: LoopbackServer.Gate, _ entered: LoopbackServer.Gate
    ) async throws {
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        try await entered.opened()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        gate.open()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.respond("in time")
        #expect(await task.value == .answer("in time"))
        await end
    }

    @Test func anIdleSessionEndsAtOnce() async {
        await scripted.session.shutdown()
        await scripted.session.shutdown(drainingFor: .seconds(5))
    }

    @Test func withoutGraceWhatIsInFlightIsCut() async throws {
        let (task, attempt) = try await inFlight()
        let waiting = outcome { [session = scripted.session] in
            "\(try await session.data("http://localhost/").1.status.code)"
        }
        await scripted.waitUntilLive(count: 2)
        async let end: Void = scripted.session.shutdown()
        #expect(await task.value == .failed(.cancelled(.sessionShutDown)))
        #expect(await waiting.value == .failed(.cancelled(.sessionShutDown)))
        await end
        #expect(attempt.count(of: .cancel) == 1)
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func whatEndsWithinTheGraceIsAnswered() async throws {
        let (task, attempt) = try await inFlight()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        await scripted.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0)
        attempt.receiveHead()
        attempt.receiveBody("just in time")
        attempt.end()
        #expect(await task.value == .answer("just in time"))
        await end
    }

    @Test func theGraceEndsAtItsInstant() async throws {
        let (task, attempt) = try await inFlight()
        let session = scripted.session
        let end = Task { await session.shutdown(drainingFor: .seconds(10)) }
        await scripted.waitUntilRefusing()
        await scripted.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0)
        await scripted.advance(by: .nanoseconds(1))
        #expect(await task.value == .failed(.cancelled(.sessionShutDown)))
        await end.value
    }

    @Test func noNewRequestIsTakenWhileItDrains() async throws {
        let (task, attempt) = try await inFlight()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        let late = await Outcome { [session = scripted.session] in
            "\(try await session.data("http://localhost/late").1.status.code)"
        }
        #expect(late == .failed(.cancelled(.sessionShutDown)))
        attempt.receiveHead(status: 204)
        attempt.end()
        #expect(await task.value == .answer(""))
        await end
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func aRequestAfterTheEndIsRefused() async {
        await scripted.session.shutdown()
        let late = await Outcome { [session = scripted.session] in
            "\(try await session.data("http://localhost/late").1.status.code)"
        }
        #expect(late == .failed(.cancelled(.sessionShutDown)))
        let handle = scripted.session.request("http://localhost/late")
        handle.resume()
        await #expect(throws: TrellisError.self) { try await handle.data() }
        #expect(await handle.state == .cancelled)
    }

    @Test(arguments: [false, true])
    func theErrorOfARefusedRequestDoesNotTellOfAWait(_ hasSteps: Bool) async {
        let scripted = steppedSession { if hasSteps { $0.intercept(with: RetryPolicy(retryLimit: 1)) } }
        await scripted.session.shutdown()
        let error = await #expect(throws: TrellisError.self) {
            try await scripted.session.stream("http://localhost/late")
        }
        #expect(
            error?.description
                == "GET http://localhost/late: the session is shut down and accepts no new requests")
        #expect(error?.phase == .composing)
        #expect(error?.kind == .cancelled)
    }

    @Test func twoWhoEndItBothReturn() async throws {
        let (task, _) = try await inFlight()
        async let first: Void = scripted.session.shutdown()
        async let second: Void = scripted.session.shutdown()
        _ = await (first, second)
        #expect(await task.value == .failed(.cancelled(.sessionShutDown)))
    }

    @Test func aSessionThatNobodyHoldsLivesAsLongAsItsStreams() async throws {
        var session: Session? = Session(transport: scripted.transport)
        weak let watched = session
        let opening = Task { [session] in try await session?.stream("http://localhost/") }
        let attempt = try await scripted.transport.nextAttempt()
        session = nil
        attempt.connect()
        attempt.receiveHead()
        let stream = try #require(try await opening.value)
        attempt.receiveBody("still here")
        attempt.end()
        #expect(try await stream.chunks.collect(upTo: 100) == Data("still here".utf8))
        withExtendedLifetime(watched) {}
    }

    // MARK: Calls inside a step

    private func steppedSession(_ change: (inout Steps) -> Void) -> Scripted {
        Scripted { change(&$0.steps) }
    }

    @Test func aCallInsideAStepIsWaitedForAndGoesOn() async throws {
        let gate = LoopbackServer.Gate()
        let entered = LoopbackServer.Gate()
        let scripted = steppedSession {
            $0.adapters.append(
                Adapter { request, _ in
                    entered.open()
                    try await gate.opened()
                    return request
                })
        }
        try await expectAnswer(scripted, gate, entered)
    }

    @Test func aCallThatHasNotReachedAnEngineIsWaitedFor() async throws {
        let adapting = Locked<(@Sendable () -> Void)?>(nil)
        let scripted = steppedSession {
            $0.adapters.append(
                Adapter { request, _ in
                    adapting.withLock { $0 }?()
                    return request
                })
        }
        let end = Locked<Task<Void, Never>?>(nil)
        adapting.withLock { [session = scripted.session] in
            $0 = { end.withLock { $0 = Task.immediate { await session.shutdown(drainingFor: .seconds(10)) } } }
        }
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        let attempt = try await scripted.transport.nextAttempt()
        #expect(scripted.session.life.isShutDown)
        attempt.respond("in time")
        #expect(await task.value == .answer("in time"))
        await end.withLock { $0 }?.value
    }

    @Test func aCallInsideAStepEndsWithTheGrace() async throws {
        let entered = LoopbackServer.Gate()
        let scripted = steppedSession {
            $0.adapters.append(
                Adapter { request, _ in
                    entered.open()
                    try await LoopbackServer.Gate().opened()
                    return request
                })
        }
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        try await entered.opened()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        await scripted.advance(by: .seconds(10))
        #expect(await task.value == .failed(.cancelled(.sessionShutDown)))
        await end
    }

    @Test func theDeadlineOfACallInsideAStepHoldsDuringTheDrain() async throws {
        let entered = LoopbackServer.Gate()
        let scripted = steppedSession {
            $0.adapters.append(
                Adapter { request, _ in
                    entered.open()
                    try await LoopbackServer.Gate().opened()
                    return request
                })
        }
        let task = outcome { [session = scripted.session] in
            var request = Request("http://localhost/")
            request.timeouts = Timeouts(total: .seconds(5))
            return String(decoding: try await session.data(request).0, as: UTF8.self)
        }
        try await entered.opened()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        await scripted.advance(by: .seconds(5))
        #expect(await task.value == .failed(.timedOut(.total)))
        await end
    }

    @Test(arguments: [true, false])
    func theNextHopOfWhatIsInFlightGoesOut(hasSteps: Bool) async throws {
        let scripted = steppedSession { if hasSteps { $0.adapters.append(Adapter { request, _ in request }) } }
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        let first = try await scripted.transport.nextAttempt()
        first.connect()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        first.receiveHead(status: 302, headers: [.location: "/next"])
        first.end()
        let second = try await scripted.transport.nextAttempt()
        #expect(second.request.url == "http://localhost/next")
        second.respond("there")
        #expect(await task.value == .answer("there"))
        await end
    }

    @Test func theRetryOfWhatIsInFlightGoesOut() async throws {
        let scripted = steppedSession { $0.retriers.append(Retrier { _, _ in .retry }) }
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        let first = try await scripted.transport.nextAttempt()
        first.connect()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        first.receiveHead(status: 503)
        first.end()
        let second = try await scripted.transport.nextAttempt()
        second.respond("again")
        #expect(await task.value == .answer("again"))
        await end
    }

    @Test func aSharedCallOfWhatIsInFlightGoesOut() async throws {
        let (gate, entered) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let scripted = steppedSession {
            $0.application = [GatedStep(gate: gate, entered: entered), RequestCoalescing()]
        }
        try await expectAnswer(scripted, gate, entered)
    }

    private struct GatedStep: RequestStep {
        let gate: LoopbackServer.Gate
        let entered: LoopbackServer.Gate

        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            entered.open()
            try await gate.opened()
            return try await next(request)
        }
    }

    /// A redirect that arrives before the call has recorded its first exchange leaves nothing behind in the session.
    @Test func aHandleThatWasRedirectedAtOnceIsForgotten() async throws {
        let transport = EarlyTransport { _, request, events in
            let isLast = request.url.hasSuffix("/next")
            events.transportDidReceiveHead(
                ResponseHead(status: isLast ? .ok : .found, headers: isLast ? [:] : [.location: "/next"]))
            events.transportDidEnd(TransportEnd())
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        let handle = session.request("http://localhost/")
        handle.resume()
        #expect(try await handle.response(of: .data).status == .ok)
        // The clock stands still: the shutdown returns because no request is in flight.
        await session.shutdown(drainingFor: .seconds(1_000))
    }

    @Test func aCallThatStartsDuringTheDrainIsRefused() async throws {
        let scripted = steppedSession { $0.adapters.append(Adapter { request, _ in request }) }
        let handle = scripted.session.request("http://localhost/")
        let task = outcome { [session = scripted.session] in
            String(decoding: try await session.data("http://localhost/").0, as: UTF8.self)
        }
        let first = try await scripted.transport.nextAttempt()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        #expect(
            await outcome { "\(try await handle.response(of: .data).status.code)" }.value
                == .failed(.cancelled(.sessionShutDown)))
        first.respond(status: 204)
        #expect(await task.value == .answer(""))
        await end
        #expect(scripted.transport.attempts.count == 1)
    }
}
