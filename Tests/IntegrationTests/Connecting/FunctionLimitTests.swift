import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Functions of the session's owner that do not return, and ignore their cancellation, hold no call longer than its limits.
@Suite(.timeLimit(.minutes(1)), .requiresPeers)
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
        let begun = LoopbackServer.Gate(), end = LoopbackServer.Gate()
        let count = Locked(0)

        func run() async {
            count.withLock { $0 += 1 }
            begun.open()
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

    init() async throws { peer = try await PinPeer() }

    private func session(_ function: Function, _ stubborn: Stubborn) -> Session {
        let manager = function == .evaluator ? ServerTrustManager(everyHost: stubborn) : nil
        return peer.session(manager) {
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

    /// Also a stream, which has no total, ends with the limit on connecting.
    @Test(arguments: Function.allCases)
    func theLimitOnConnectingEndsTheWait(_ function: Function) async throws {
        let stubborn = Stubborn(), session = session(function, stubborn)
        let request = try request(function, Timeouts(connect: .milliseconds(200)))
        let error = await expectFailure([.connectTimeout]) { _ = try await session.stream(request) }
        #expect(error?.detail == function.state && error?.phase == .connecting && error?.url == request.url)
        #expect(error.map { $0.elapsed >= .milliseconds(200) } == true)
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
        await session.shutdown()
        stubborn.end.open()
    }

    @Test(arguments: Function.allCases)
    func theDeadlineEndsTheWait(_ function: Function) async throws {
        let stubborn = Stubborn(), session = session(function, stubborn)
        let request = try request(function, Timeouts(connect: .seconds(30), total: .milliseconds(200)))
        let error = await expectFailure([.deadline]) { _ = try await session.data(request) }
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
        let request = try request(.evaluator, Timeouts(connect: .milliseconds(200)))
        for _ in 1...2 { await expectFailure([.connectTimeout]) { try await session.data(request) } }
        #expect(stubborn.count.withLock { $0 } == 2)
        await session.shutdown()
        stubborn.end.open()
    }
}
