import HTTPTypes
import Testing

@testable import TrellisCore

/// The decision to retry a request, and the delay.
struct RetryPolicyTests {
    static let now = HTTPDate(secondsSince1970: 1_781_481_600)

    static func answer(
        _ method: HTTPRequest.Method, _ status: Int, _ fields: HTTPFields = [:],
        request fieldsOfRequest: HTTPFields = [:]
    ) -> FailedAttempt {
        let request = Request("http://a.example/", method: method, headers: fieldsOfRequest)
        let head = ResponseHead(status: .init(code: status), headers: fields)
        return FailedAttempt(request: request, response: Response(head: head, url: request.url))
    }

    static func failure(
        _ method: HTTPRequest.Method, _ reason: TrellisError.Reason, _ phase: TrellisError.Phase = .sending,
        request fields: HTTPFields = [:]
    ) -> FailedAttempt {
        let request = Request("http://a.example/", method: method, headers: fields)
        return FailedAttempt(request: request, error: TrellisError(reason, method: method, phase: phase))
    }

    static func delay(
        _ failed: FailedAttempt, attempt: Int = 1, random: Double = 1, policy: RetryPolicy = RetryPolicy()
    ) -> Duration? {
        policy.delay(after: failed, attempt: attempt, random: random, now: now)
    }

    // MARK: Retried failures

    @Test(arguments: [
        (200, false), (400, false), (401, false), (404, false), (408, true), (409, false), (425, false), (429, true),
        (500, true), (501, false), (502, true), (503, true), (504, true), (505, false), (599, false),
    ])
    func theseStatusesSpeakOfTheMoment(_ status: Int, _ isRetried: Bool) {
        #expect((Self.delay(Self.answer(.get, status)) != nil) == isRetried)
        // The result is the same for the error of a failed validation.
        #expect((Self.delay(Self.failure(.get, .validationFailed(.status(status)), .received)) != nil) == isRetried)
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("PUT", true), ("DELETE", true), ("OPTIONS", true), ("TRACE", true),
        ("QUERY", true), ("POST", false), ("PATCH", false), ("LOCK", false), ("get", false),
    ])
    func theseMethodsMayBeSentTwice(_ name: String, _ isRetried: Bool) throws {
        let method = try #require(HTTPRequest.Method(name))
        #expect((Self.delay(Self.answer(method, 503)) != nil) == isRetried)
        #expect((Self.delay(Self.failure(method, .exchangeFailed(.connectionLost))) != nil) == isRetried)
    }

    @Test(
        arguments: [
            (.connectionFailed(.nameResolution("x")), .connecting, true),
            (.connectionFailed(.unreachable("x")), .connecting, true),
            (.timedOut(.connect), .connecting, true),
            // The request sent no bytes, and a retry would fail too.
            (.securityFailed(.handshake("x")), .connecting, false),
            (.securityFailed(.untrusted(.init(.selfSigned))), .connecting, false),
            (.cancelled(.explicitly), .connecting, false), (.invalidRequest(.url("x")), .composing, false),
            (.timedOut(.total), .queued, false),
            (.limited(.rate(host: "x", wait: .zero, maximumWait: .zero)), .composing, false),
            // The request may have reached the server.
            (.exchangeFailed(.connectionLost), .sending, false), (.timedOut(.responseHead), .sending, false),
            (.exchangeFailed(.receive("x")), .receiving, false),
            (.connectionFailed(.unreachable("x")), .sending, false),
        ] as [(TrellisError.Reason, TrellisError.Phase, Bool)])
    func anyMethodMayBeSentAgainIfNothingWasSent(
        _ reason: TrellisError.Reason, _ phase: TrellisError.Phase, _ isRetried: Bool
    ) {
        #expect((Self.delay(Self.failure(.post, reason, phase)) != nil) == isRetried)
    }

    @Test func aKeyMakesAnyMethodOneThatMayBeSentTwice() {
        let key: HTTPFields = [.idempotencyKey: "1"]
        #expect(Self.delay(Self.answer(.post, 503, request: key)) != nil)
        #expect(Self.delay(Self.failure(.post, .exchangeFailed(.connectionLost), request: key)) != nil)
        #expect(Self.delay(Self.answer(.post, 404, request: key)) == nil)
        #expect(Self.delay(Self.answer(.post, 503, request: [.idempotencyKey: ""])) == nil)
    }

    @Test func methodsAndStatusesCanBeChosen() {
        var policy = RetryPolicy()
        policy.retryableHTTPMethods = [.post]
        policy.retryableHTTPStatusCodes = [418]
        #expect(Self.delay(Self.answer(.post, 418), policy: policy) != nil)
        #expect(Self.delay(Self.answer(.get, 418), policy: policy) == nil)
        #expect(Self.delay(Self.answer(.post, 503), policy: policy) == nil)
    }

    /// Each value that the initialiser takes is the value of the property with its name; the defaults are those of the properties.
    @Test func allValuesCanBeGivenAtOnce() {
        let policy = RetryPolicy(
            retryLimit: 3, exponentialBackoffBase: 1.5, exponentialBackoffScale: .seconds(1),
            maximumBackoff: .seconds(4), maximumRetryAfter: .seconds(5), retryableHTTPMethods: [.post],
            retryableHTTPStatusCodes: [418], addsIdempotencyKey: true, budget: nil)
        #expect(policy.retryLimit == 3)
        #expect(policy.exponentialBackoffBase == 1.5)
        #expect(policy.exponentialBackoffScale == .seconds(1))
        #expect(policy.maximumBackoff == .seconds(4))
        #expect(policy.maximumRetryAfter == .seconds(5))
        #expect(policy.retryableHTTPMethods == [.post])
        #expect(policy.retryableHTTPStatusCodes == [418])
        #expect(policy.addsIdempotencyKey && policy.budget == nil)
        let (usual, scripted) = (RetryPolicy(), RetryPolicy(random: { 1 }))
        #expect(usual.retryLimit == scripted.retryLimit && usual.budget != nil && !usual.addsIdempotencyKey)
        #expect(usual.exponentialBackoffBase == scripted.exponentialBackoffBase)
        #expect(usual.exponentialBackoffScale == scripted.exponentialBackoffScale)
        #expect(usual.maximumBackoff == scripted.maximumBackoff)
        #expect(usual.maximumRetryAfter == scripted.maximumRetryAfter)
        #expect(usual.retryableHTTPMethods == scripted.retryableHTTPMethods)
        #expect(usual.retryableHTTPStatusCodes == scripted.retryableHTTPStatusCodes)
    }

    @Test func errorsOfOthersAreNotRetried() {
        struct Other: Error {}
        let request = Request("http://a.example/")
        #expect(Self.delay(FailedAttempt(request: request, error: Other())) == nil)
        #expect(Self.delay(FailedAttempt(request: request, error: CancellationError())) == nil)
        #expect(Self.delay(FailedAttempt(request: request)) == nil)
    }

    // MARK: Delays

    @Test(
        arguments: [
            (1, 0, .zero), (1, 0.5, .milliseconds(250)), (1, 1, .milliseconds(500)), (2, 1, .seconds(1)),
            (3, 1, .seconds(2)), (6, 1, .seconds(16)), (7, 1, .seconds(30)), (7, 0.5, .seconds(15)),
            (10_000, 1, .seconds(30)),
        ] as [(Int, Double, Duration)])
    func theSpanDoublesUpToTheCap(_ attempt: Int, _ random: Double, _ delay: Duration) {
        let policy = RetryPolicy(retryLimit: .max)
        #expect(Self.delay(Self.answer(.get, 503), attempt: attempt, random: random, policy: policy) == delay)
    }

    @Test(arguments: [(1, true), (2, true), (3, false), (4, false)])
    func thereAreTwoRetries(_ attempt: Int, _ isRetried: Bool) {
        #expect((Self.delay(Self.answer(.get, 503), attempt: attempt) != nil) == isRetried)
    }

    @Test(arguments: [0, -1])
    func aLimitMayBeZero(_ limit: Int) {
        #expect(Self.delay(Self.answer(.get, 503), policy: RetryPolicy(retryLimit: limit)) == nil)
    }

    @Test(
        arguments: [
            (.nan, .milliseconds(500), .seconds(30), .milliseconds(500)),
            (.infinity, .milliseconds(500), .seconds(30), .milliseconds(500)),
            (-3, .milliseconds(500), .seconds(30), .milliseconds(500)),
            (1e300, .milliseconds(500), .seconds(30), .seconds(30)),
            (2, .seconds(-5), .seconds(30), .zero), (2, .seconds(5), .seconds(-30), .zero),
            (2, .seconds(Int64.max), .seconds(30), .seconds(30)), (2, .seconds(100), .seconds(30), .seconds(30)),
            (1e6, Duration(attoseconds: 1 << 110), Duration(attoseconds: 1 << 122), Duration(attoseconds: 1 << 122)),
        ] as [(Double, Duration, Duration, Duration)])
    func settingsWithoutSenseDoNoHarm(_ base: Double, _ scale: Duration, _ cap: Duration, _ delay: Duration) {
        var policy = RetryPolicy()
        policy.exponentialBackoffBase = base
        policy.exponentialBackoffScale = scale
        policy.maximumBackoff = cap
        #expect(Self.delay(Self.answer(.get, 503), attempt: 2, policy: policy) == delay)
    }

    @Test(
        arguments: [
            ("7", 1, .milliseconds(7_500)), ("7", 0, .seconds(7)), ("0", 0, .zero), ("60", 0, .seconds(60)),
            ("61", 0, nil), ("99999999999999999999", 0, nil), ("Mon, 15 Jun 2026 00:00:30 GMT", 0, .seconds(30)),
            ("Mon, 15 Jun 2026 01:00:00 GMT", 0, nil), ("Mon, 15 Jun 2020 00:00:00 GMT", 0, .zero),
            ("-1", 1, .milliseconds(500)), ("soon", 1, .milliseconds(500)),
        ] as [(String, Double, Duration?)])
    func retryAfterIsWaitedForUpToALimit(_ value: String, _ random: Double, _ delay: Duration?) {
        let fields: HTTPFields = [.retryAfter: value]
        #expect(Self.delay(Self.answer(.get, 429, fields), random: random) == delay)
        var error = TrellisError(.validationFailed(.status(429)), method: .get, phase: .received)
        error.response = Self.answer(.get, 429, fields).response
        let failed = FailedAttempt(request: Request("http://a.example/"), error: error)
        #expect(Self.delay(failed, random: random) == delay)
    }
}
