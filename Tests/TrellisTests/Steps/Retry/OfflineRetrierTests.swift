import CurlEngine
import HTTPTypes
import Testing

@testable import Trellis

/// Retries that wait for the network.
struct OfflineRetrierTests {
    /// A network that records its checks and waits.
    private final class Network: Sendable {
        let answers: Locked<[Bool]>
        let waits = Locked<[Duration]>([])

        init(_ answers: [Bool]) { self.answers = Locked(answers) }

        func wait(limit: Duration) -> NetworkWait {
            NetworkWait(
                limit: limit, isThere: { self.answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } },
                pause: { duration in self.waits.withLock { $0.append(duration) } })
        }
    }

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
            (.proxyFailed(.unreachable(proxy: "p.example:1", why: "x")), true),
            (.proxyFailed(.nameResolution(proxy: "p.example:1", why: "x")), true),
            (.proxyFailed(.unreachable(proxy: "localhost:1", why: "x")), false),
            (.proxyFailed(.refused(proxy: "p.example:1", status: 502)), false),
        ] as [(TrellisError.Reason, Bool)])
    func onlyWhereTheNetworkMayBeMissing(_ reason: TrellisError.Reason, _ isRetried: Bool) async {
        #expect(await Self.isRetried(Self.failure("http://a.example/", reason)) == isRetried)
        #expect(await !Self.isRetried(Self.failure("http://a.example/", reason), whenNetworkReturns: false))
    }

    @Test(arguments: [
        ("http://localhost:8080/", false), ("http://app.localhost/", false), ("http://127.0.0.1/", false),
        ("http://127.8.8.8:1/", false), ("http://[::1]:80/", false), ("http://127.evil.example/", true),
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

    @Test(
        arguments: [
            // The network is there all the time; is back after the third pause; stays away.
            ([true], false, 0), ([false, false, false, true], true, 3), ([false], false, 5),
        ] as [([Bool], Bool, Int)])
    func itLooksUntilTheNetworkIsBack(_ answers: [Bool], _ isBack: Bool, _ pauses: Int) async {
        let network = Network(answers)
        #expect(await network.wait(limit: .milliseconds(450)).untilThereIsOneAgain() == isBack)
        #expect(network.waits.withLock { $0.count } == pauses)
        #expect(network.waits.withLock { $0.reduce(.zero, +) } <= .milliseconds(450))
    }

    @Test func aCancelledTaskDoesNotWait() async {
        let wait = NetworkWait(limit: .seconds(3600), isThere: { false })
        let task = Task { await wait.untilThereIsOneAgain() }
        task.cancel()
        #expect(await !task.value)
    }

    // MARK: The kernel's tables

    @Test(
        arguments: [
            ("", false), ("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n", false),
            ("Iface\tDestination\tGateway\tFlags\neth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n", true),
            ("eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n", false),
            ("eth0\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\n", false),
            ("*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\n", false),
            ("lo\t00000000\t00000000\t0001\n", false), ("eth0\t00000000\n", false), ("eth0 00000000 0 zz\n", false),
            ("wg0 00000000 00000000 0001 0 0 0 00000080\n", true),
        ])
    func aDefaultRouteOfIPv4(_ table: String, _ isThere: Bool) {
        #expect(DefaultRoute.isInIPv4Table(table) == isThere)
    }

    private static let zeros = String(repeating: "0", count: 32)

    @Test(
        arguments: [
            ("", false),
            ("\(zeros) 00 \(zeros) 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0", true),
            ("\(zeros) 00 \(zeros) 00 \(zeros) ffffffff 00000001 00000000 00200200       lo", false),
            ("\(zeros) 00 \(zeros) 00 \(zeros) ffffffff 00000001 00000000 00200201     eth0", false),
            ("\(zeros) 40 \(zeros) 00 \(zeros) 00000100 00000001 00000000 00000001     eth0", false),
            ("fe800000000000000000000000000000 00 \(zeros) 00 \(zeros) 1 1 0 00000001 eth0", false),
            ("\(zeros) 00 \(zeros)", false),
        ])
    func aDefaultRouteOfIPv6(_ table: String, _ isThere: Bool) {
        #expect(DefaultRoute.isInIPv6Table(table) == isThere)
    }
}
