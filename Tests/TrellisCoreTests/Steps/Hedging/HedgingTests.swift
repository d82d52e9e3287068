import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// A second attempt beside a slow one.
@Suite(.timeLimit(.minutes(3)))
struct HedgingTests {
    let clock = TestClock()
    let transport: ScriptedTransport

    init() { transport = ScriptedTransport(clock: clock) }

    func session(
        _ policy: HedgingPolicy = HedgingPolicy(after: .seconds(1)),
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.steps.hedging = policy
        change(&configuration)
        return Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// Sends a request, and returns its task and its first attempt.
    private func begin(_ session: Session) async throws -> (Task<(Data, Response), any Error>, ScriptedAttempt) {
        let task = Task { try await session.data("http://a.example/") }
        return (task, try await transport.nextAttempt())
    }

    /// Advances the clock until the next attempt starts.
    ///
    /// The clock stands still until the wait for the hedge has begun, in a task: the other limits are longer than that wait.
    func hedge(_ session: Session, count: Int = 2) async throws -> ScriptedAttempt {
        while transport.attempts.count < count {
            try Task.checkCancellation()
            if let time = await session.timeToNextTimer, time > .zero, time <= .seconds(1) { clock.move(by: time) }
            await Task.yield()
        }
        return try await transport.nextAttempt()
    }

    @Test func theSecondMayWin() async throws {
        let session = session()
        let (task, first) = try await begin(session)
        first.connect()
        let second = try await hedge(session)
        #expect(clock.now.elapsed >= .seconds(1))
        second.respond("second")
        let (data, response) = try await task.value
        #expect(String(decoding: data, as: UTF8.self) == "second")
        #expect(response.metrics.attemptCount == 2)
        try await first.wait(for: .cancel)
    }

    /// The second attempt is not one of the equal requests that wait for the first one.
    @Test func aHedgeIsSentAlthoughACacheCollapsesEqualRequests() async throws {
        let session = session { $0.steps.cache = HTTPCache() }
        let (task, _) = try await begin(session)
        let second = try await hedge(session)
        #expect(clock.now.elapsed < .seconds(2))
        second.respond("second")
        #expect(String(decoding: try await task.value.0, as: UTF8.self) == "second")
    }

    @Test func theFirstMayWinYet() async throws {
        let session = session()
        let (task, first) = try await begin(session)
        let second = try await hedge(session)
        first.respond("first")
        let (data, response) = try await task.value
        #expect(String(decoding: data, as: UTF8.self) == "first")
        #expect(response.metrics.attemptCount == 2)
        try await second.wait(for: .cancel)
    }

    @Test func aFastAnswerIsTheOnlyOne() async throws {
        let session = session()
        let task = Task { try await session.data("http://a.example/") }
        try await transport.nextAttempt().respond("fast")
        #expect(try await task.value.1.metrics.attemptCount == 1)
        clock.move(by: .seconds(10))
        await session.settle()
        #expect(transport.attempts.count == 1)
    }

    @Test func whenOneFailsTheOtherIsWaitedFor() async throws {
        let session = session()
        let (task, first) = try await begin(session)
        let second = try await hedge(session)
        first.connect()
        first.fail(.exchangeFailed(.receive("reset")))
        await session.settle()
        second.respond("second")
        #expect(String(decoding: try await task.value.0, as: UTF8.self) == "second")
    }

    @Test func anAnswerOfTheMomentWaitsForABetterOne() async throws {
        let session = session()
        let (task, first) = try await begin(session)
        let second = try await hedge(session)
        first.respond("", status: 503)
        await session.settle()
        second.respond("better")
        #expect(String(decoding: try await task.value.0, as: UTF8.self) == "better")
    }

    @Test func whereAllFailTheCallerGetsAnAnswerRatherThanAnError() async throws {
        let session = session()
        let (task, first) = try await begin(session)
        let second = try await hedge(session)
        first.connect()
        first.fail(.exchangeFailed(.receive("reset")))
        await session.settle()
        second.respond("sorry", status: 503)
        let (data, response) = try await task.value
        #expect(response.status.code == 503)
        #expect(String(decoding: data, as: UTF8.self) == "sorry")
    }

    @Test func hedgesUseUpNoRetries() async throws {
        let session = session(HedgingPolicy(after: .seconds(1), maximumExtraAttempts: 2)) {
            $0.steps.intercept(with: RetryPolicy(retryLimit: 1, budget: nil) { 0 })
        }
        let task = Task { try await session.data("http://a.example/") }
        let attempts = [
            try await transport.nextAttempt(), try await hedge(session), try await hedge(session, count: 3),
        ]
        for attempt in attempts {
            attempt.respond("", status: 503)
            await session.settle()
        }
        try await transport.nextAttempt().respond("retried")
        #expect(String(decoding: try await task.value.0, as: UTF8.self) == "retried")
    }

    @Test func aRetryBehindARedirectIsHedgedToo() async throws {
        let session = session {
            $0.steps.retriers = [Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry }]
        }
        let (task, first) = try await begin(session)
        first.connect()
        first.receiveHead(status: 302, headers: [.location: "/next"])
        first.end()
        try await transport.nextAttempt().respond("", status: 503)
        let retried = try await transport.nextAttempt()
        #expect(retried.request.url == "http://a.example/next")
        let hedge = try await hedge(session, count: 4)
        #expect(hedge.request.url == "http://a.example/next")
        hedge.respond("hedged")
        #expect(String(decoding: try await task.value.0, as: UTF8.self) == "hedged")
    }

    @Test func aFailureBeforeTheDelayIsTheRetriers() async throws {
        let session = session {
            $0.steps.retriers = [Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry }]
        }
        let task = Task { try await session.data("http://a.example/") }
        try await transport.nextAttempt().respond("", status: 503)
        try await transport.nextAttempt().respond("retried")
        #expect(try await task.value.1.metrics.attemptCount == 2)
    }

    /// The request of a response, and that which retriers see, is the request of the same attempt, not of the last one.
    @Test func aResponseHasTheRequestOfItsAttempt() async throws {
        let seen = Locked<[String?]>([])
        let session = session {
            $0.steps.adapters = [Adapter { request, context in request.withHeader(.from, "\(context.attempt)") }]
            $0.steps.retriers = [
                Retrier { attempt, _ in
                    seen.withLock { $0.append(attempt.request.headers[.from]) }
                    return .doNotRetry
                }
            ]
        }
        for status in [200, 503] {
            let count = transport.attempts.count
            let task = Task { try await session.request("http://a.example/").response(of: .string) }
            let first = try await transport.nextAttempt()
            let second = try await hedge(session, count: count + 2)
            first.respond("first", status: status)
            if status == 503 {
                await session.settle()
                second.respond("second", status: status)
            }
            let response = try? await task.value
            #expect(response?.request.headers[.from] == (status == 200 ? "1" : nil))
        }
        #expect(seen.withLock { $0 } == ["1"])
    }

    @Test func retriesCountOnBehindHedges() async throws {
        let session = session {
            $0.steps.retriers = [Retrier { _, context in context.attempt == 2 ? .retry : .doNotRetry }]
        }
        let (task, first) = try await begin(session)
        let second = try await hedge(session)
        for attempt in [first, second] { attempt.respond("", status: 503) }
        try await transport.nextAttempt().respond("third")
        #expect(try await task.value.1.metrics.attemptCount == 3)
    }

    @Test(arguments: [true, false])
    func onlyWhatMayBeSentTwiceIs(_ hasKey: Bool) async throws {
        let session = session()
        var request = Request("http://a.example/", method: .post, body: .string("x"))
        if hasKey { request.headers[.idempotencyKey] = "1" }
        let task = Task { [request] in try await session.data(request) }
        let first = try await transport.nextAttempt()
        first.connect()
        if hasKey {
            _ = try await hedge(session)
        } else {
            for _ in 0..<5 {
                await session.settle()
                clock.move(by: .seconds(1))
            }
            await session.settle()
            #expect(transport.attempts.count == 1)
        }
        first.respond("")
        _ = try await task.value
    }

    @Test func aBodyThatComesOnceIsNotSentTwice() {
        let policy = HedgingPolicy(after: .seconds(1))
        let chunks = AsyncStream<Data> { $0.finish() }
        #expect(!policy.mayHedge(Request("/", method: .put, body: .stream(chunks)), sent: nil))
        #expect(policy.mayHedge(Request("/", method: .put, body: .string("x")), sent: nil))
        let keyed = Request("/", method: .post, headers: [.idempotencyKey: "1"])
        #expect(policy.mayHedge(Request("/", method: .post), sent: keyed))
        // The request behind a redirect says nothing about the original request.
        #expect(!policy.mayHedge(Request("/", method: .post), sent: keyed.withMethod(.get)))
        #expect(!policy.mayHedge(Request("/"), sent: Request("/", method: .post)))
        #expect(!policy.mayHedge(Request("/", method: .put), sent: Request("/", method: .put, body: .stream(chunks))))
    }

    /// The request as it was sent counts: both would take effect.
    @Test func aRequestThatAnAdapterMakesAPostIsNotHedged() async throws {
        let session = session { $0.steps.adapters = [Adapter { request, _ in request.withMethod(.post) }] }
        let (task, first) = try await begin(session)
        for _ in 0..<5 {
            await session.settle()
            clock.move(by: .seconds(1))
        }
        await session.settle()
        #expect(transport.attempts.count == 1)
        first.respond("")
        _ = try await task.value
    }

    @Test func thereAreAsManyAsThePolicySaysAndNoMore() async throws {
        let session = session(HedgingPolicy(after: .seconds(1), maximumExtraAttempts: 2))
        let task = Task { try await session.data("http://a.example/") }
        _ = try await transport.nextAttempt()
        _ = try await hedge(session)
        let third = try await hedge(session, count: 3)
        for _ in 0..<5 {
            await session.settle()
            clock.move(by: .seconds(1))
        }
        await session.settle()
        #expect(transport.attempts.count == 3)
        third.respond("third")
        #expect(try await task.value.1.metrics.attemptCount == 3)
    }

    @Test func theBudgetEndsThem() async throws {
        let budget = RetryBudget(ratio: 0, minimumRetries: 1, clock: clock.engineSide)
        let session = session(HedgingPolicy(after: .seconds(1), maximumExtraAttempts: 5, budget: budget))
        let task = Task { try await session.data("http://a.example/") }
        _ = try await transport.nextAttempt()
        let second = try await hedge(session)
        for _ in 0..<3 {
            await session.settle()
            clock.move(by: .seconds(1))
        }
        await session.settle()
        #expect(transport.attempts.count == 2)
        second.respond("")
        _ = try await task.value
    }

    @Test func whoWaitsForAConnectionIsNotFollowedByAnother() async throws {
        let session = session { $0.limits.total = 1 }
        let blocker = Task { try await session.data(Request("http://b.example/", method: .post)) }
        let blocking = try await transport.nextAttempt()
        let task = Task { try await session.data("http://a.example/") }
        while await session.actor.requestCount != 2, !Task.isCancelled { await session.settle() }
        for _ in 0..<3 {
            clock.move(by: .seconds(1))
            await session.settle()
        }
        #expect(await session.actor.requestCount == 2)
        blocking.respond("")
        try await transport.nextAttempt().respond("one")
        #expect(try await task.value.1.metrics.attemptCount == 1)
        _ = try await blocker.value
    }

    @Test func aStreamIsDecidedByItsHead() async throws {
        let session = session()
        let task = Task { try await session.stream("http://a.example/") }
        let first = try await transport.nextAttempt()
        let second = try await hedge(session)
        second.connect()
        second.receiveHead(status: 200)
        let stream = try await task.value
        try await first.wait(for: .cancel)
        second.receiveBody("body")
        second.end()
        var body = Data()
        for try await chunk in stream.chunks { body += chunk }
        #expect(String(decoding: body, as: UTF8.self) == "body")
        #expect(try await stream.finalResponse().metrics.attemptCount == 2)
        #expect(second.count(of: .cancel) == 0)
    }

    @Test func aCancelledCallEndsAll() async throws {
        let session = session()
        let (task, first) = try await begin(session)
        let second = try await hedge(session)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for attempt in [first, second] { try await attempt.wait(for: .cancel) }
    }

    @Test func theDeadlineEndsAll() async throws {
        let session = session()
        let task = Task {
            try await session.data(Request("http://a.example/").withTimeouts(Timeouts(total: .seconds(5))))
        }
        let first = try await transport.nextAttempt()
        let second = try await hedge(session)
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.attemptCount == 2)
        for attempt in [first, second] { try await attempt.wait(for: .cancel) }
    }

    @Test func aHandleHoldsAllUp() async throws {
        let session = session()
        let handle = session.request("http://a.example/")
        handle.resume()
        let first = try await transport.nextAttempt()
        let second = try await hedge(session)
        handle.suspend()
        for attempt in [first, second] { try await attempt.wait(for: .suspend(true)) }
        handle.resume()
        for attempt in [first, second] { try await attempt.wait(for: .suspend(false)) }
        handle.cancel()
        for attempt in [first, second] { try await attempt.wait(for: .cancel) }
    }

    @Test func theEventsTellThemApart() async throws {
        let session = session()
        let events = session.requestEvents
        let (task, first) = try await begin(session)
        first.connect()
        let second = try await hedge(session)
        second.respond("second")
        _ = try await task.value
        try await first.wait(for: .cancel)
        var words: [String] = []
        for await event in events {
            words.append("\(event.attempt) \(event.word)")
            if words.contains("2 finished 200"), words.contains(where: { $0.hasPrefix("1 ended") }) { break }
        }
        #expect(
            words.prefix(6) == ["1 created", "1 queued", "1 admitted", "1 connected", "1 sent", "1 hedging"])
        #expect(
            words.dropFirst(6).filter { $0.hasPrefix("2") } == [
                "2 queued", "2 admitted", "2 connected", "2 sent", "2 head 200", "2 ended", "2 finished 200",
            ])
    }

    @Test func theHandleOfAStreamControlsTheAttemptThatAnswered() async throws {
        let session = session()
        let handle = session.streamRequest("http://a.example/")
        let progress = handle.downloadProgress
        let task = Task { try await handle.response }
        let first = try await transport.nextAttempt()
        first.connect()
        _ = try await hedge(session)
        first.receiveHead()
        first.receiveBody("he")
        _ = try await task.value
        await session.settle()
        first.receiveBody("llo")
        await session.settle()
        var iterator = progress.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        handle.cancel()
        try await first.wait(for: .cancel)
    }
}
