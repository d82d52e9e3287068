import CurlEngine
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// Retries that wait for the network.
struct OfflineRetrierTests {
    static func failure(_ url: String, _ reason: TrellisError.Reason) -> FailedAttempt {
        FailedAttempt(
            request: Request(url, method: .post), error: TrellisError(reason, method: .post, phase: .connecting))
    }

    static func isRetried(_ attempt: FailedAttempt, whenNetworkReturns returns: Bool = true) async -> Bool {
        let retrier = OfflineRetrier { returns }
        if case .retry = await retrier.retry(attempt, context: .test()) { return true }
        return false
    }

    @Test(
        arguments: [
            (.connectionFailed(.nameResolution("x")), true), (.connectionFailed(.unreachable("x")), true),
            (.timedOut(.connect), false), (.securityFailed(.handshake("x")), false),
            (.exchangeFailed(.connectionLost), false), (.cancelled(.explicitly), false),
            (.proxyFailed(.unreachable(proxy: "p.example:1", reason: "x")), true),
            (.proxyFailed(.nameResolution(proxy: "p.example:1", reason: "x")), true),
            (.proxyFailed(.unreachable(proxy: "localhost:1", reason: "x")), false),
            (.proxyFailed(.unreachable(proxy: "/run/socks", reason: "x")), false),
            (.proxyFailed(.refused(proxy: "p.example:1", status: 502)), false),
        ] as [(TrellisError.Reason, Bool)])
    func onlyWhereTheNetworkMayBeMissing(_ reason: TrellisError.Reason, _ isRetried: Bool) async {
        #expect(await Self.isRetried(Self.failure("http://a.example/", reason)) == isRetried)
        #expect(await !Self.isRetried(Self.failure("http://a.example/", reason), whenNetworkReturns: false))
    }

    @Test(arguments: [
        ("http://localhost:8080/", false), ("http://app.localhost/", false), ("http://127.0.0.1/", false),
        ("http://127.8.8.8:1/", false), ("http://[::1]:80/", false), ("http://[::ffff:127.0.0.1]/", false),
        ("http://127.evil.example/", true),
        ("http://localhost.example/", true), ("http://[::12]/", true), ("http://10.0.0.1/", true),
    ])
    func theMachineItselfNeedsNoNetwork(_ url: String, _ isRetried: Bool) async {
        #expect(await Self.isRetried(Self.failure(url, .connectionFailed(.unreachable("x")))) == isRetried)
    }

    @Test func answersAndOtherErrorsAreNoneOfItsBusiness() async {
        struct Other: Error {}
        #expect(await !Self.isRetried(RetryPolicyTests.answer(.get, 503)))
        #expect(await !Self.isRetried(FailedAttempt(request: Request("http://a.example/"), error: Other())))
    }

    // MARK: The wait

    private static func wait(for network: TestNetwork, limit: Duration = .seconds(3600)) -> NetworkWait {
        NetworkWait(limit: limit, reachability: network.reachability)
    }

    /// A network that is available is not one that is back, and neither is one that nothing is known about.
    @Test(arguments: [NetworkReachability.Status.reachable(.cellular), .reachable(.ethernetOrWiFi), .unknown])
    func noWait(_ status: NetworkReachability.Status) async {
        #expect(await !Self.wait(for: TestNetwork(status)).untilThereIsOneAgain())
    }

    @Test func itEndsWhenTheNetworkIsBack() async throws {
        let network = TestNetwork(.notReachable)
        let task = Task { await Self.wait(for: network).untilThereIsOneAgain() }
        try await network.waitForObservers(count: 1)
        network.set(.reachable(.cellular))
        #expect(await task.value)
        try await network.waitForObservers(count: 0)
    }

    @Test func itHasALimit() async throws {
        let network = TestNetwork(.notReachable)
        #expect(await !Self.wait(for: network, limit: .milliseconds(20)).untilThereIsOneAgain())
        try await network.waitForObservers(count: 0)
    }

    @Test func aCancelledTaskDoesNotWait() async {
        let task = Task { await Self.wait(for: TestNetwork(.notReachable)).untilThereIsOneAgain() }
        task.cancel()
        #expect(await !task.value)
    }

    @Test func theRetrierWaitsForTheNetwork() async throws {
        let network = TestNetwork(.notReachable)
        let retrier = OfflineRetrier(maximumWait: .seconds(3600), network.reachability)
        let attempt = Self.failure("http://a.example/", .connectionFailed(.unreachable("x")))
        let task = Task { await retrier.retry(attempt, context: .test()) }
        try await network.waitForObservers(count: 1)
        network.set(.reachable(.ethernetOrWiFi))
        guard case .retry = await task.value else {
            Issue.record("no retry")
            return
        }
    }
}
