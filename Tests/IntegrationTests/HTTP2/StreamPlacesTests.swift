import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The limits on connections hold for shared connections, whatever happens to these.
///
/// Serialized, because the tests share peers.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct StreamPlacesTests {
    private static let limits = Peer.started("http2_limits.py")
    private static let scenarios = Peer.started("http2.py")

    private struct Nothing: Decodable {}

    private func session(_ peer: Peer, _ limits: ConnectionLimits, engines: EngineCount = .fixed(1)) -> Session {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.limits = limits
        configuration.engines = engines
        // A request that gets no place fails, and does not fail because the machine is busy.
        configuration.timeouts = Timeouts(total: .seconds(120))
        return Session(configuration: configuration)
    }

    private func tell(_ peer: Peer, _ command: String) async throws {
        _ = try await peer.answer(Nothing.self, to: command)
    }

    private func counts(_ peer: Peer) async throws -> StreamLimitTests.Counts { try await peer.answer(to: "counts") }

    @Test(arguments: [1, 4])
    func aRefusedStreamGivesUpItsPlace(_ perOrigin: Int) async throws {
        let peer = try await Self.scenarios.value
        let session = session(peer, ConnectionLimits(perOrigin: perOrigin))
        for _ in 0..<perOrigin + 1 {
            let url = try peer.url("tls", "/refused-once/\(UUID())")
            #expect(try await session.data(url).1.status == .ok)
        }
        #expect(try await session.data(peer.url("tls", "/ok/10")).1.status == .ok)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test func connectionsThatEndGiveUpTheirPlaces() async throws {
        let peer = try await Self.scenarios.value
        let session = session(peer, ConnectionLimits(perOrigin: 4))
        for _ in 0..<6 {
            _ = try await session.data(peer.url("tls", "/ok/10"))
            let url = try peer.url("tls", "/close-once/\(UUID())")
            #expect(try await session.data(url).1.status == .ok)
        }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test func theLimitOfAnOriginHoldsOnAnEngineThatDoesNotKnowTheOrigin() async throws {
        let peer = try await Self.limits.value
        try await tell(peer, "limit 100")
        try await tell(peer, "hold")
        let session = session(peer, ConnectionLimits(perOrigin: 4), engines: .fixed(2))
        let url = try peer.url("tls", "/hold")
        let first = Task(executorPreference: session.executors[0]) { try await session.data(url) }
        while try await counts(peer).requests != 1 {}
        let others = (0..<50).map { _ in
            Task(executorPreference: session.executors[1]) { try await session.data(url) }
        }
        while try await counts(peer).requests != 51 {}
        #expect(try await counts(peer).peakOpen <= 4)
        try await tell(peer, "release")
        for task in others + [first] { #expect(try await task.value.1.status == .ok) }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// Idle connections of one engine are closed when another engine makes its own.
    @Test func idleConnectionsOfAnotherEngineCountTowardsTheLimitOfAnOrigin() async throws {
        let peer = try await Self.limits.value
        try await tell(peer, "limit 10")
        let session = session(peer, ConnectionLimits(perOrigin: 4), engines: .fixed(2))
        let url = try peer.url("tls", "/hold")
        // The second time, the connections of the first engine are idle, and the third time those of the second engine.
        for engine in [0, 1, 0] {
            let executor = session.executors[engine]
            _ = try await Task(executorPreference: executor) { try await session.data(peer.url("tls", "/ok")) }.value
            try await tell(peer, "hold")
            let tasks = (0..<40).map { _ in
                Task(executorPreference: executor) { try await session.data(url) }
            }
            while try await counts(peer).requests != 40 {}
            let counts = try await counts(peer)
            #expect(counts.open == 4)
            #expect(counts.peakOpen <= 4)
            try await tell(peer, "release")
            for task in tasks { #expect(try await task.value.1.status == .ok) }
        }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// An engine whose connections are always busy does not keep another engine waiting.
    @Test func anEngineGetsItsTurnWhileAnotherOneIsAlwaysBusy() async throws {
        let peer = try await Self.limits.value
        try await tell(peer, "limit 2")
        try await tell(peer, "hold")
        let session = session(peer, ConnectionLimits(perOrigin: 2), engines: .fixed(2))
        let url = try peer.url("tls", "/hold")
        _ = try await session.data(peer.url("tls", "/ok"))
        func onBusyEngine() -> Task<(Data, Response), any Error> {
            Task(executorPreference: session.executors[0]) { try await session.data(url) }
        }
        var busy = (0..<8).map { _ in onBusyEngine() }
        while try await counts(peer).requests != 4 {}
        let hasEnded = Locked(false)
        let other = Task(executorPreference: session.executors[1]) {
            _ = try await session.data(url)
            hasEnded.withLock { $0 = true }
        }
        // It gets its turn, however long its thread takes to begin.
        while !hasEnded.withLock({ $0 }) {
            try Task.checkCancellation()
            busy.append(onBusyEngine())
            try await tell(peer, "release one")
            while try await counts(peer).requests < 1, !hasEnded.withLock({ $0 }) { try Task.checkCancellation() }
        }
        try await tell(peer, "release")
        for task in busy { #expect(try await task.value.1.status == .ok) }
        try await other.value
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    // MARK: Closed connections

    /// A delegate that reports the end of its transfer.
    private final class End: TransferDelegate {
        private let whenEnded: @Sendable (EngineFailure.Kind?) -> Void
        init(_ whenEnded: @escaping @Sendable (EngineFailure.Kind?) -> Void) { self.whenEnded = whenEnded }
        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) { whenEnded(end.failure?.kind) }
    }

    /// A connection that the engine has closed itself carries no request, so that a request that must not be sent twice does not fail.
    @Test func aRequestRightAfterItsConnectionWasClosedIsSent() async throws {
        let peer = try await Self.scenarios.value
        let executor = EngineExecutor()
        let engine = CurlEngine(executor: executor, configuration: EngineConfiguration())
        var rules = TransferTrust.Rules()
        rules.authorities = .unverified
        let url = try WireURL(parsing: peer.url("tls", "/ok/10"))
        let options = TransferOptions(
            url: url, trust: TransferTrust(server: rules, proxy: rules, number: 0), method: "POST",
            version: .http2Only)
        for _ in 0..<3 {
            for closes in [false, true] {
                let failure = await withCheckedContinuation { continuation in
                    executor.submit {
                        if closes { engine.closeIdleConnections(to: nil) }
                        let transfer = engine.makeTransfer(options)
                        engine.start(transfer, delegate: End { continuation.resume(returning: $0) })
                    }
                }
                #expect(failure == nil)
            }
        }
        await executor.shutDown()
        try await peer.waitUntilAllClosed()
    }

    /// An idle connection is closed although requests to other origins are running.
    @Test func anIdleConnectionIsClosedWhileOthersAreUsed() async throws {
        let peer = try await Self.scenarios.value
        let mayAnswer = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.wait(for: mayAnswer)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let executor = EngineExecutor()
        let engine = CurlEngine(executor: executor, configuration: EngineConfiguration())
        var rules = TransferTrust.Rules()
        rules.authorities = .unverified
        let trust = TransferTrust(server: rules, proxy: rules, number: 0)
        func options(_ url: String, _ version: TransferOptions.Version) throws -> TransferOptions {
            TransferOptions(url: try WireURL(parsing: url), trust: trust, method: "GET", version: version)
        }
        func perform(_ options: TransferOptions) async -> EngineFailure.Kind? {
            await withCheckedContinuation { continuation in
                executor.submit {
                    engine.start(engine.makeTransfer(options), delegate: End { continuation.resume(returning: $0) })
                }
            }
        }
        #expect(await perform(try options(peer.url("tls", "/ok/10"), .http2Only)) == nil)
        async let running = perform(try options(server.url(), .http1))
        try await server.waitUntilRequested(count: 1)
        executor.submit { engine.closeIdleConnections(to: nil) }
        try await peer.waitUntilAllClosed()
        mayAnswer.open()
        #expect(try await running == nil)
        await executor.shutDown()
    }
}
