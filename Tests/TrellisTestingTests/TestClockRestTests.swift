import CurlEngine
import FoundationEssentials
import Testing
import Trellis

@testable import TrellisTesting

/// What calls wait for beside their peers. The test clock moves while they wait, and not while one of them is about to continue.
@Suite(.timeLimit(.minutes(3)))
struct TestClockRestTests {
    /// Code of the user's that takes its time, until the test lets it return. The clock knows nothing of it.
    private final class SlowCode: Sendable {
        let hasBegun = LoopbackServer.Gate()
        private let (calls, end) = AsyncStream.makeStream(of: Void.self)

        func run() async {
            hasBegun.open()
            for await _ in calls {}
        }

        func letReturn() { end.finish() }
    }

    private let clock = TestClock()

    private func untilAtRest() async { while await clock.rest() == nil, !Task.isCancelled { await Task.yield() } }

    /// The number of sleepers, for which ``TestClock/waitForSleepers(_:)`` waits.
    private var sleeperCount: Int { clock.state.value.sleeperCount }

    // MARK: Hedging

    /// Holds up the attempts that are sent beside the first.
    private struct HedgeStep: RequestStep {
        let code: SlowCode

        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            if context.hedges > 0 { await code.run() }
            return try await next(request)
        }
    }

    /// The first attempt is at rest all the time.
    @Test func anAttemptThatIsSentBesideAnotherIsAwaited() async throws {
        let (code, mayEnd) = (SlowCode(), LoopbackServer.Gate())
        let transport = MockTransport { _ in
            try await mayEnd.opened()
            return .text("done")
        }
        var configuration = SessionConfiguration()
        configuration.steps.hedging = HedgingPolicy(after: .seconds(1))
        configuration.steps.network.append(HedgeStep(code: code))
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let call = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilRequested(count: 1)
        await untilAtRest()
        #expect(sleeperCount == 1)
        clock.move(by: .seconds(1))
        try await code.hasBegun.opened()
        #expect(await clock.rest() == nil)
        code.letReturn()
        await untilAtRest()
        #expect(transport.requests.count == 2)
        mayEnd.open()
        #expect(try await call.value == "done")
    }

    // MARK: Limits on waits

    private struct Resolver: NameResolver {
        let code: @Sendable () async throws -> Void

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            try await code()
            return try ResolvedAddresses(["127.0.0.1"], timeToLive: .zero)
        }
    }

    private func session(
        _ transport: any Transport, resolving code: @escaping @Sendable () async throws -> Void
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.resolver = Resolver(code: code)
        return Session(configuration: configuration, transport: transport, clock: clock)
    }

    @Test func aResolverAtWorkIsAwaited() async throws {
        let (code, transport) = (SlowCode(), ScriptedTransport(clock: clock))
        let session = session(transport) { await code.run() }
        let call = Task { try await session.string("http://example.com/") }
        try await code.hasBegun.opened()
        #expect(await clock.rest() == nil)
        code.letReturn()
        try await transport.nextAttempt().respond("done")
        #expect(try await call.value == "done")
    }

    @Test func aCallRestsWithItsResolver() async throws {
        let (hasBegun, mayEnd) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let transport = ScriptedTransport(clock: clock)
        let session = session(transport) {
            hasBegun.open()
            try await mayEnd.opened()
        }
        let call = Task { try await session.string("http://example.com/") }
        try await hasBegun.opened()
        await untilAtRest()
        #expect(sleeperCount == 0)
        mayEnd.open()
        try await transport.nextAttempt().respond("done")
        #expect(try await call.value == "done")
    }

    /// The limit on the wait for another call is no pause, and its end is the beginning of a request.
    @Test(arguments: 1...20) func aCallWaitsForAnEqualOneWithALimit(_ run: Int) async throws {
        let mayEnd = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await mayEnd.opened()
            return .text("\(run)")
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache(policy: CachePolicy(maximumCoalescedWait: .seconds(5)))
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let first = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilRequested(count: 1)
        let second = Task { try await session.string("http://example.com/") }
        // The session, and both calls.
        while clock.followed.withLock({ $0.count }) < 3, !Task.isCancelled { await Task.yield() }
        await untilAtRest()
        #expect(sleeperCount == 0)
        await clock.advance(by: .seconds(5) - .nanoseconds(1))
        #expect(transport.requests.count == 1)
        await clock.advance(by: .nanoseconds(1))
        #expect(transport.requests.count == 2)
        mayEnd.open()
        for call in [first, second] { #expect(try await call.value == "\(run)") }
    }

    // MARK: Bodies

    private func upload(
        _ transport: MockTransport, _ code: @escaping @Sendable () async throws -> Void
    ) -> Task<String, any Error> {
        let session = Session(transport: transport, clock: clock)
        let body = RequestBody.stream {
            try await code()
            return AsyncStream<Data> { chunks in
                chunks.yield(Data("body".utf8))
                chunks.finish()
            }
        }
        return Task { try await session.string(Request("http://example.com/", method: .post, body: body)) }
    }

    @Test func theSourceOfABodyIsAwaited() async throws {
        let (code, transport) = (SlowCode(), MockTransport { _ in .text("done") })
        let call = upload(transport) { await code.run() }
        try await code.hasBegun.opened()
        #expect(await clock.rest() == nil)
        code.letReturn()
        #expect(try await call.value == "done")
    }

    @Test func aCallRestsWithTheSourceOfItsBody() async throws {
        let (hasBegun, mayEnd) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let call = upload(MockTransport { _ in .text("done") }) {
            hasBegun.open()
            try await mayEnd.opened()
        }
        try await hasBegun.opened()
        await untilAtRest()
        mayEnd.open()
        #expect(try await call.value == "done")
    }

    // MARK: Credentials

    private struct Issuer: Authenticator {
        let newAccess: @Sendable () async throws -> String

        func apply(_ tokens: Tokens, to request: inout Request) {
            request.headers[.authorization] = "Bearer " + tokens.access
        }

        func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens {
            Tokens(access: try await newAccess())
        }
    }

    /// Returns a session whose server refuses the first credential, except at `/held`, where it waits.
    private func session(
        holding mayEnd: LoopbackServer.Gate, _ newAccess: @escaping @Sendable () async throws -> String
    ) -> (session: Session, transport: MockTransport) {
        let transport = MockTransport { request in
            if request.path == "/held" { try await mayEnd.opened() }
            return request.path == "/held" || request["Authorization"] == "Bearer b"
                ? .text("done") : MockResponse(status: 401)
        }
        var configuration = SessionConfiguration()
        configuration.authentication = .interceptor(
            AuthenticationInterceptor(authenticator: Issuer(newAccess: newAccess), credential: Tokens(access: "a")))
        return (Session(configuration: configuration, transport: transport, clock: clock), transport)
    }

    /// Another call waits for its peer meanwhile.
    @Test func aRefreshIsAwaited() async throws {
        let (code, mayEnd) = (SlowCode(), LoopbackServer.Gate())
        let (session, transport) = session(holding: mayEnd) {
            await code.run()
            return "b"
        }
        let held = Task { try await session.string("http://example.com/held") }
        try await transport.waitUntilRequested(count: 1)
        let call = Task { try await session.string("http://example.com/") }
        try await code.hasBegun.opened()
        #expect(await clock.rest() == nil)
        code.letReturn()
        #expect(try await call.value == "done")
        mayEnd.open()
        #expect(try await held.value == "done")
    }

    @Test func aCallRestsWithARefreshThroughAnotherSession() async throws {
        let mayEnd = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await mayEnd.opened()
            return .text("b")
        }
        let issuer = Session(transport: transport, clock: clock)
        let (session, _) = session(holding: LoopbackServer.Gate()) { try await issuer.string("http://issuer.example/") }
        let call = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilRequested(count: 1)
        await untilAtRest()
        mayEnd.open()
        #expect(try await call.value == "done")
    }
}
