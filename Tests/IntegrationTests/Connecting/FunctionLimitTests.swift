import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Functions of the session's owner that do not return, and ignore their cancellation, hold no call longer than its limits.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct FunctionLimitTests {
    enum Function: CaseIterable {
        case resolver, proxySelection, evaluator

        var state: String {
            switch self {
            case .resolver: "the resolver has not found the addresses of name.example"
            case .proxySelection: "the function that selects the proxies has not returned"
            case .evaluator: "the evaluator of 127.0.0.1 has not decided"
            }
        }
    }

    /// A function that ends when the test says so, and not before.
    private final class Stubborn: NameResolver, ServerTrustEvaluating {
        let begun = LoopbackServer.Gate(), begunAgain = LoopbackServer.Gate(), end = LoopbackServer.Gate()
        let count = Locked(0)

        func run() async {
            (count.next() == 1 ? begun : begunAgain).open()
            let end = end
            // The task is another one, so that the cancellation of this one does not reach it.
            await Task { try? await end.opened() }.value
        }

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            await run()
            return try ResolvedAddresses(["127.0.0.1"], timeToLive: .zero)
        }

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws { await run() }
    }

    private let peer: PinPeer
    private let clock = TestClock()
    /// The limit that is reached.
    private let limit = Duration.seconds(20)

    init() async throws { peer = try await PinPeer() }

    private func session(_ function: Function, _ stubborn: Stubborn) -> Session {
        let manager = function == .evaluator ? ServerTrustManager(everyHost: stubborn) : nil
        return peer.session(manager, clock: clock) {
            switch function {
            case .resolver: $0.resolver = stubborn
            case .proxySelection:
                $0.proxy = .selecting { _ in
                    await stubborn.run()
                    return []
                }
            case .evaluator: break
            }
        }
    }

    private func request(_ function: Function, _ timeouts: Timeouts) throws -> Request {
        var request = Request(function == .resolver ? "http://name.example/" : try peer.url("chain"))
        request.timeouts = timeouts
        return request
    }

    /// Expects that a call ends at the limit, which begins once the function has begun.
    private func expectTimeout(
        _ kinds: [TrellisError.Kind], of session: Session, once stage: LoopbackServer.Gate,
        _ call: @escaping @Sendable () async throws -> Void
    ) async throws -> TrellisError? {
        try await IntegrationTests.expectTimeout(kinds, after: limit, on: clock, in: session, once: stage, of: call)
    }

    /// Also a stream, which has no total, ends with the limit on connecting.
    @Test(arguments: Function.allCases)
    func theLimitOnConnectingEndsTheWait(_ function: Function) async throws {
        let stubborn = Stubborn(), session = session(function, stubborn)
        let request = try request(function, Timeouts(connect: limit))
        let error = try await expectTimeout([.connectTimeout], of: session, once: stubborn.begun) {
            _ = try await session.stream(request)
        }
        #expect(error?.detail == function.state && error?.phase == .connecting && error?.url == request.url)
        #expect(error.map { $0.elapsed >= limit } == true)
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
        await session.shutdown()
        stubborn.end.open()
    }

    @Test(arguments: Function.allCases)
    func theDeadlineEndsTheWait(_ function: Function) async throws {
        let stubborn = Stubborn(), session = session(function, stubborn)
        let request = try request(function, Timeouts(connect: limit * 2, total: limit))
        let error = try await expectTimeout([.totalTimeout], of: session, once: stubborn.begun) {
            _ = try await session.data(request)
        }
        #expect(error?.detail == function.state && error?.phase == .connecting)
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
        stubborn.end.open()
    }

    @Test(arguments: Function.allCases, [Timeouts(), Timeouts(connect: nil)])
    func cancellationEndsTheWait(_ function: Function, _ timeouts: Timeouts) async throws {
        let stubborn = Stubborn(), session = session(function, stubborn)
        let request = try request(function, timeouts)
        let task = Task { try await session.data(request) }
        try await stubborn.begun.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await session.shutdown()
        stubborn.end.open()
    }

    /// The next call asks the evaluator itself, and does not wait for the one that has not returned.
    @Test func aCallThatIsGoneHoldsUpNoOther() async throws {
        let stubborn = Stubborn(), session = session(.evaluator, stubborn)
        let request = try request(.evaluator, Timeouts(connect: limit))
        for stage in [stubborn.begun, stubborn.begunAgain] {
            let error = try await expectTimeout([.connectTimeout], of: session, once: stage) {
                _ = try await session.data(request)
            }
            #expect(error?.detail == Function.evaluator.state)
        }
        #expect(stubborn.count.withLock { $0 } == 2)
        await session.shutdown()
        stubborn.end.open()
    }

    /// An evaluator that returns when the test says so, and at once from its second call on.
    private final class SlowAtFirst: ServerTrustEvaluating {
        let stubborn = Stubborn()
        let count = Locked(0)

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            let number = count.next()
            if number == 1 { await stubborn.run() }
        }
    }

    /// The tunnel and TLS have worked, so the proxy is not passed by.
    @Test func aSlowEvaluatorIsNoFailureOfTheProxy() async throws {
        let evaluator = SlowAtFirst(), decisions = ProxyDecisions()
        let proxyURL = try peer.url("proxy", ""), proxy = try Proxy(proxyURL)
        let session = peer.session(ServerTrustManager(everyHost: evaluator), clock: clock) {
            $0.proxy = .selecting { _ in [proxy, .direct] }
            $0.eventMonitors = [decisions]
        }
        let request = try request(.evaluator, Timeouts(connect: limit))
        let error = try await expectTimeout([.connectTimeout], of: session, once: evaluator.stubborn.begun) {
            _ = try await session.data(request)
        }
        #expect(error?.detail == Function.evaluator.state && error?.mayHaveSentBytes == false)
        #expect(evaluator.count.withLock { $0 } == 1)
        // The proxy is not left out of the next request either.
        let (_, response) = try await session.data(try self.request(.evaluator, Timeouts()))
        #expect(response.metrics.proxyURL == proxyURL)
        await session.shutdown()
        #expect(!decisions.all.isEmpty)
        #expect(decisions.all.allSatisfy { $0.contains("\(proxyURL): ") && !$0.contains("failed") }, "\(decisions.all)")
        evaluator.stubborn.end.open()
    }

    // MARK: Scripts

    private func scriptSession(_ port: String, _ evaluator: any ServerTrustEvaluating) throws -> Session {
        let script = try PACScript.url(peer.url(port, "/proxy.pac"))
        return peer.session(ServerTrustManager(everyHost: evaluator), clock: clock) {
            $0.proxy = .automatic(script)
            $0.timeouts.connect = limit
        }
    }

    @Test(.requiresPAC) func theEvaluatorOfAScriptsServerHasALimit() async throws {
        let stubborn = Stubborn(), session = try scriptSession("chain", stubborn)
        let error = try await expectTimeout([.proxy], of: session, once: stubborn.begun) {
            _ = try await session.stream("http://far.invalid/")
        }
        let cause = error?.underlying as? TrellisError
        #expect(cause?.kind == .connectTimeout && cause?.detail == Function.evaluator.state)
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
        await session.shutdown()
        stubborn.end.open()
    }

    @Test(.requiresPAC) func aScriptsServerThatAlwaysShowsOtherCertificatesIsGivenUp() async throws {
        let session = try scriptSession("changing", SlowNever())
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        let cause = error?.underlying as? TrellisError
        #expect(
            cause?.reason
                == .securityFailed(
                    .serverTrustEvaluationFailed(.changingCertificates(host: "127.0.0.1", evaluations: 8))))
        await session.shutdown()
    }

    private struct SlowNever: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {}
    }
}
