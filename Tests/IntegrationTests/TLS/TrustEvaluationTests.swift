import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Evaluators of the user's own are asked before anything is sent, in the task of the call.
///
/// Serialized, because the tests share the peer's count of bytes.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct TrustEvaluationTests {
    private static let started = Peer.started("pins.py")

    private let peer: PinPeer

    init() async throws { peer = try await PinPeer(Self.started) }

    /// An evaluator that runs a closure, and counts.
    private final class Asked: ServerTrustEvaluating {
        private let trusts = Locked<[ServerTrust]>([])
        private let body: @Sendable (ServerTrust) async throws -> Void

        init(_ body: @escaping @Sendable (ServerTrust) async throws -> Void = { _ in }) { self.body = body }

        var all: [ServerTrust] { trusts.withLock { $0 } }

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            trusts.withLock { $0.append(trust) }
            await Task.yield()
            try await body(trust)
        }
    }

    private struct Distrust: Error, Equatable {}

    private func session(
        _ evaluator: any ServerTrustEvaluating, clock: TestClock? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        peer.session(ServerTrustManager(everyHost: evaluator), clock: clock, change)
    }

    /// The chain is evaluated once, and later connections need no further question.
    @Test func aChainIsEvaluatedOnce() async throws {
        let asked = Asked()
        let session = session(asked)
        for _ in 1...3 { #expect(try await peer.get(session, peer.url("chain", "/close")).resumed == false) }
        for _ in 1...3 { _ = try await peer.get(session, peer.url("chain")) }
        let trust = try #require(asked.all.first)
        #expect(asked.all.count == 1 && trust.isValidated && trust.host == "127.0.0.1")
        #expect(
            try trust.chain.map(\.publicKeyPin.description)
                == ["leaf", "intermediate", "root"].map { try peer.pin($0) })
        // Another host has an evaluation of its own.
        _ = try await peer.get(session, peer.url("chain", host: "localhost"))
        #expect(asked.all.map(\.host) == ["127.0.0.1", "localhost"])
        await session.shutdown()
    }

    @Test func nothingIsSentBeforeTheEvaluation() async throws {
        let peer = peer
        let seen = Locked<[Int]>([])
        let asked = Asked { _ in
            let bytes = try await peer.receivedBytes()
            seen.withLock { $0.append(bytes) }
        }
        let session = session(asked)
        let size = 200_000
        // This body can be read only once.
        let once = RequestBody.stream(
            AsyncStream<Data> { continuation in
                for _ in 0..<4 { continuation.yield(Data(count: size / 4)) }
                continuation.finish()
            }, length: Int64(size))
        let (_, response) = try await session.data(Request(try peer.url("chain"), method: .post, body: once))
        #expect(response.metrics.attemptCount == 1 && response.metrics.bytesSent > size)
        #expect(seen.withLock { $0 } == [0])
        #expect(try await peer.receivedBytes() > size)
        await session.shutdown()
    }

    @Test func aRefusalIsTheUnderlyingErrorAndIsNotRemembered() async throws {
        let asked = Asked { _ in throw Distrust() }
        let session = session(asked) { $0.steps.intercept(with: RetryPolicy(retryLimit: 3)) }
        for count in 1...2 {
            let error = await expectFailure([.trustRefused]) {
                try await session.data(Request(peer.url("chain"), method: .post, body: .string("secret")))
            }
            #expect(error?.underlying is Distrust && error?.isRetryable == false)
            #expect(error?.mayHaveSentBytes == false && error?.phase == .connecting && error?.attemptCount == 1)
            #expect(try error?.url == peer.url("chain"))
            #expect(error?.method == .post)
            #expect(error?.metrics.serverTrust?.chain.count == 3)
            #expect(asked.all.count == count)
        }
        #expect(try await peer.receivedBytes() == 0)
        await session.shutdown()
        try await peer.peer.waitUntilAllClosed()
    }

    /// A failure of a request that the evaluator itself has made is not the failure of the call.
    @Test func anErrorOfTheFrameworkIsARefusalToo() async throws {
        let session = session(Asked { _ in _ = try await Session.default.data("http://127.0.0.1:1/") })
        let error = await expectFailure([.trustRefused]) { try await session.data(peer.url("chain")) }
        #expect((error?.underlying as? TrellisError)?.kind == .connect && error?.isRetryable == false)
        await session.shutdown()
    }

    @Test func pinsAmongSlowEvaluatorsKeepTheirError() async throws {
        let composite = try CompositeTrustEvaluator(evaluators: [Asked(), try peer.evaluator(["stray"])])
        let session = session(composite)
        let error = await expectFailure([.pinMismatch]) { try await session.data(peer.url("chain")) }
        #expect(error?.underlying == nil)
        await session.shutdown()
    }

    @Test func theDeadlineEndsAnEvaluation() async throws {
        let begun = LoopbackServer.Gate(), ended = LoopbackServer.Gate(), clock = TestClock()
        let asked = Asked { _ in
            begun.open()
            defer { ended.open() }
            try await LoopbackServer.Gate().opened()
        }
        let session = session(asked, clock: clock)
        let request = Request(try peer.url("chain")).withTimeouts(Timeouts(connect: .seconds(60), total: .seconds(20)))
        let error = try await expectTimeout(
            [.totalTimeout], after: .seconds(20), on: clock, in: session, once: begun
        ) { try await session.data(request) }
        #expect(error?.mayHaveSentBytes == false)
        try await ended.opened()
        #expect(try await peer.receivedBytes() == 0)
        await session.shutdown()
    }

    @Test func cancellationEndsAnEvaluation() async throws {
        let begun = LoopbackServer.Gate(), ended = LoopbackServer.Gate()
        let session = session(
            Asked { _ in
                begun.open()
                defer { ended.open() }
                try await LoopbackServer.Gate().opened()
            })
        let url = try peer.url("chain")
        let task = Task { try await session.data(url) }
        try await begun.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await ended.opened()
        #expect(try await peer.receivedBytes() == 0)
        await session.shutdown()
    }

    @Test func aServerThatAlwaysShowsOtherCertificatesIsGivenUp() async throws {
        let asked = Asked()
        let session = session(asked)
        let error = await expectFailure([.trustRefused]) { try await session.data(peer.url("changing")) }
        guard case .securityFailed(.serverTrustEvaluationFailed(.changingCertificates(_, let count))) = error?.reason
        else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(count == asked.all.count && count > 1 && error?.underlying == nil)
        #expect(try await peer.receivedBytes() == 0)
        await session.shutdown()
        // Pins need no second connection.
        let pinned = try peer.session(pinning: ["intermediate"])
        _ = try await pinned.data(peer.url("changing"))
        await pinned.shutdown()
    }

    /// The certificate of a host is known for the request that waits, whatever number of hosts comes in between.
    @Test func manyOtherHostsDoNotResetAnEvaluation() async throws {
        let reference = Locked<Session?>(nil)
        let asked = Asked { trust in
            guard trust.host == "127.0.0.1", let session = reference.withLock({ $0 }) else { return }
            await withTaskGroup(of: Void.self) { group in
                // Nothing listens on this port.
                for number in 0..<1100 {
                    group.addTask { _ = try? await session.data("https://127.1.\(number / 250).\(number % 250):1/") }
                }
            }
        }
        // The evaluator's requests take a while on a busy machine.
        let session = session(asked) { $0.timeouts.connect = .seconds(180) }
        reference.withLock { $0 = session }
        _ = try await peer.get(session, peer.url("chain"))
        #expect(asked.all.count == 1)
        reference.withLock { $0 = nil }
        await session.shutdown()
    }

    @Test(arguments: [("h2", "/ok"), ("chain", "/")])
    func manyCallsAtOnceShareAnEvaluation(_ port: String, _ path: String) async throws {
        let asked = Asked()
        let session = session(asked)
        let url = try peer.url(port, path)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await session.data(url).1.status.code } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(asked.all.count == 1)
        await session.shutdown()
        try await peer.peer.waitUntilAllClosed()
    }

    /// The words for the events of a session.
    private final class Words: EventMonitor {
        private let words = Locked<[String]>([])
        var all: [String] { words.withLock { $0 } }
        func handle(_ event: RequestEvent) async {
            let word: String? =
                switch event.kind {
                case .queued: "queued"
                case .admitted: "admitted"
                case .evaluatingServerTrust(let trust): "evaluating \(trust.host)"
                case .connected: "connected"
                case .exchangeEnded(_, let error): error == nil ? "ended" : "failed"
                case .retrying: "retrying"
                default: nil
                }
            if let word { words.withLock { $0.append(word) } }
        }
    }

    @Test func anEvaluationIsNoAttempt() async throws {
        let words = Words()
        let session = session(Asked()) { $0.eventMonitors = [words] }
        let request = session.request(try peer.url("chain"))
        let response = try await request.response(of: .data)
        #expect(response.metrics.attemptCount == 1)
        await session.shutdown()
        #expect(
            words.all == ["queued", "admitted", "evaluating 127.0.0.1", "queued", "admitted", "connected", "ended"])
    }

    @Test func streamsAndDownloadsAreEvaluated() async throws {
        let asked = Asked()
        let session = session(asked)
        let stream = try await session.stream(peer.url("chain"))
        #expect(try await stream.chunks.collect(upTo: 1000).count > 0)
        let file = try temporaryFolder("evaluated") + "/a"
        _ = try await session.download(peer.url("chain", host: "localhost"), to: .file(file, .removePreviousFile))
        #expect(asked.all.map(\.host) == ["127.0.0.1", "localhost"])
        await session.shutdown()
    }
}
