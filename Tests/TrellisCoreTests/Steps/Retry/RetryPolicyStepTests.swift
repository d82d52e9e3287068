import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The retry policy as an interceptor: keys, budget and deadline.
struct RetryPolicyStepTests {
    static let unavailable = RetryPolicyTests.answer(.get, 503)

    static func delay(_ result: RetryResult) -> Duration? {
        if case .retryWithDelay(let delay) = result { delay } else { nil }
    }

    static func key(
        _ policy: RetryPolicy, call: UInt64, attempt: Int = 1, method: HTTPRequest.Method = .post,
        fields: HTTPFields = [:]
    ) async throws -> String? {
        let request = Request("http://a.example/", method: method, headers: fields)
        return try await policy.adapt(request, context: .test(id: call, attempt: attempt)).headers[.idempotencyKey]
    }

    // MARK: Keys

    @Test func aCallHasOneKeyForAllItsAttempts() async throws {
        let policy = RetryPolicy(addsIdempotencyKey: true)
        let key = try #require(try await Self.key(policy, call: 1))
        #expect(try await Self.key(policy, call: 1, attempt: 2) == key)
        #expect(try await Self.key(policy, call: 2) != key)
        #expect(try await Self.key(RetryPolicy(addsIdempotencyKey: true), call: 1) != key)
    }

    @Test func aKeyIsARandomUUID() async throws {
        let policy = RetryPolicy(addsIdempotencyKey: true)
        var keys: Set<String> = []
        for call in 0..<1000 as Range<UInt64> {
            let key = try #require(try await Self.key(policy, call: call))
            #expect(key.contains(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/))
            keys.insert(key)
        }
        #expect(keys.count == 1000)
    }

    @Test func aKeyIsAddedOnlyWhereItIsWanted() async throws {
        let policy = RetryPolicy(addsIdempotencyKey: true)
        #expect(try await Self.key(policy, call: 1, method: .get) == nil)
        #expect(try await Self.key(policy, call: 1, fields: [.idempotencyKey: "mine"]) == "mine")
        #expect(try await Self.key(RetryPolicy(), call: 1) == nil)
    }

    // MARK: Deadline and budget

    /// A host to which requests come by redirects or adapters has a budget of their number, too.
    @Test(arguments: [true, false])
    func aRequestCountsForTheHostThatItIsSentTo(isRedirected: Bool) async throws {
        let answers = MockTransport.inTurn([MockResponse(status: 503), .text("yes")])
        let transport = MockTransport { request in
            guard request.url == "http://a.example/" else { return try await answers(request) }
            return MockResponse(status: 307, headers: [.location: "http://b.example/"])
        }
        var configuration = SessionConfiguration()
        let budget = RetryBudget(ratio: 1, minimumRetries: 0, clock: TestClock().engineSide)
        configuration.steps.intercept(with: RetryPolicy(budget: budget, random: { 0 }))
        if !isRedirected {
            configuration.steps.adapters.append(
                Adapter { request, _ in request.setting(\.url, to: "http://b.example/") })
        }
        let session = Session(configuration: configuration, transport: transport, clock: TestClock())
        #expect(try await session.data("http://a.example/").1.status == .ok)
    }

    @Test(
        arguments: [
            (nil, .milliseconds(500)), (.milliseconds(501), .milliseconds(500)), (.milliseconds(500), nil),
            (.zero, nil),
        ] as [(Duration?, Duration?)])
    func aRetryThatCannotBeginInTimeIsNotWaitedFor(_ remaining: Duration?, _ delay: Duration?) async {
        let policy = RetryPolicy { 1 }
        let result = await policy.retry(Self.unavailable, context: .test(remaining: remaining))
        #expect(Self.delay(result) == delay)
    }

    @Test func theBudgetEndsRetries() async {
        let policy = RetryPolicy(budget: RetryBudget(ratio: 0, minimumRetries: 2, clock: TestClock().engineSide)) { 1 }
        let copy = policy
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) != nil)
        // Neither of the next two refusals takes from the budget.
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test(remaining: .zero))) == nil)
        #expect(Self.delay(await policy.retry(RetryPolicyTests.answer(.get, 404), context: .test())) == nil)
        #expect(Self.delay(await copy.retry(Self.unavailable, context: .test())) != nil)
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) == nil)
        let elsewhere = FailedAttempt(request: Request("http://b.example/"), response: Self.unavailable.response)
        #expect(Self.delay(await policy.retry(elsewhere, context: .test())) != nil)
    }

    /// The call ends with an error that says so.
    @Test func aBodyThatCannotBeSentAgainTakesNothingFromTheBudget() async {
        let policy = RetryPolicy(budget: RetryBudget(ratio: 0, minimumRetries: 1, clock: TestClock().engineSide)) { 1 }
        let upload = Request("http://a.example/", method: .put, body: .stream(AsyncStream<Data> { $0.finish() }))
        let failed = FailedAttempt(request: upload, response: Self.unavailable.response)
        for _ in 0..<3 { #expect(Self.delay(await policy.retry(failed, context: .test())) != nil) }
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) != nil)
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) == nil)
    }

    /// Returns a session whose adapter makes the body, and whose server is unavailable at first.
    private static func session(
        budget: RetryBudget? = nil, _ makeBody: @escaping @Sendable () -> RequestBody
    ) -> (Session, MockTransport) {
        let answers = MockTransport.inTurn([MockResponse(status: 503), .text("yes")])
        let transport = MockTransport { try await answers($0) }
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: RetryPolicy(budget: budget, random: { 0 }))
        configuration.steps.adapters.append(Adapter { request, _ in request.setting(\.body, to: makeBody()) })
        return (Session(configuration: configuration, transport: transport), transport)
    }

    private static func oneShot(_ text: String) -> RequestBody {
        .stream(
            AsyncStream<Data> {
                $0.yield(Data(text.utf8))
                $0.finish()
            })
    }

    /// Whether the body is a new one or the rest of the former one cannot be known.
    @Test func aBodyOfAnAdapterThatCanBeReadOnceIsNotSentAgain() async throws {
        let budget = RetryBudget(ratio: 0, minimumRetries: 1, clock: TestClock().engineSide)
        let (session, transport) = Self.session(budget: budget) { Self.oneShot("body") }
        let request = Request("http://a.example/", method: .put)
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .bodyNotReplayable && transport.requests.count == 1)
        #expect(budget.withdraw(for: request))
    }

    @Test func aBodyIsNotSentTwiceIfItsSourceIsReadOnce() async throws {
        let body = Self.oneShot("body")
        let (session, _) = Self.session { body }
        let error = await #expect(throws: TrellisError.self) {
            try await session.data(Request("http://a.example/", method: .put))
        }
        #expect(error?.kind == .bodyNotReplayable)
    }

    @Test func firstAttemptsFillTheBudget() async throws {
        let policy = RetryPolicy(budget: RetryBudget(ratio: 0.5, minimumRetries: 0, clock: TestClock().engineSide)) {
            1
        }
        let request = Request("http://a.example/")
        for attempt in [1, 2, 3] { _ = try await policy.adapt(request, context: .test(attempt: attempt)) }
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) == nil)
        _ = try await policy.adapt(request, context: .test())
        #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) != nil)
    }

    @Test func withoutABudgetThereIsNoEnd() async {
        let policy = RetryPolicy(budget: nil) { 1 }
        for _ in 0..<100 { #expect(Self.delay(await policy.retry(Self.unavailable, context: .test())) != nil) }
    }

    // MARK: Lost connections

    @Test(
        arguments: [
            (.exchangeFailed(.connectionLost), true), (.exchangeFailed(.receive("x")), true),
            (.exchangeFailed(.send("x")), true), (.exchangeFailed(.http2("x")), true),
            (.invalidResponse(.bodyCutShort("x")), true), (.invalidResponse(.malformed("x")), false),
            (.connectionFailed(.unreachable("x")), false), (.timedOut(.idle), false),
            (.validationFailed(.status(503)), false),
        ] as [(TrellisError.Reason, Bool)])
    func lostConnectionsAlone(_ reason: TrellisError.Reason, _ isRetried: Bool) async {
        let policy = ConnectionLostRetryPolicy()
        let result = await policy.retry(RetryPolicyTests.failure(.get, reason), context: .test())
        #expect((Self.delay(result) != nil) == isRetried)
        let post = await policy.retry(RetryPolicyTests.failure(.post, reason), context: .test())
        #expect(Self.delay(post) == nil)
    }

    @Test func anAnswerIsNoLostConnection() async {
        #expect(Self.delay(await ConnectionLostRetryPolicy().retry(Self.unavailable, context: .test())) == nil)
    }

    @Test func lostConnectionsHaveKeysToo() async throws {
        let policy = ConnectionLostRetryPolicy(RetryPolicy(addsIdempotencyKey: true))
        let request = Request("http://a.example/", method: .post)
        #expect(try await policy.adapt(request, context: .test()).hasIdempotencyKey)
    }
}
