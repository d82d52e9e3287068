import Foundation
import Testing
@_spi(Transport) import TrellisCore
@_spi(Transport) import TrellisTesting

@testable import CurlEngine

/// The steps of transfers that a delegate observes. Each test of lookups has its own process, because the configuration of the resolver
/// belongs to the process.
@Suite(.timeLimit(.minutes(2)))
struct TransferStepTests {
    /// A delegate that keeps the steps of its transfer, and is used on the engine thread.
    private final class Observer: TransferDelegate, Sendable {
        let observesSteps: Bool
        private let words = Locked<[String]>([])
        private let transfer = Locked<Transfer?>(nil)
        private let whenEnded: @Sendable () -> Void
        var all: [String] { words.withLock { $0 } }

        init(observed observesSteps: Bool = true, whenEnded: @escaping @Sendable () -> Void) {
            self.observesSteps = observesSteps
            self.whenEnded = whenEnded
        }

        func start(_ options: TransferOptions, in engine: CurlEngine) {
            let transfer = engine.start(options, delegate: self)
            self.transfer.withLock { $0 = transfer }
        }

        private func add(_ word: String) { words.withLock { $0.append(word) } }

        func transferDidReach(_ step: TransferStep) {
            switch step {
            case .lookingUp(let host): add("looking up \(host)")
            case .lookedUp(let host): add("looked up \(host)")
            case .connecting(let address): add("connecting \(address)")
            case .refused(let address, let network): add("refused \(address) \(network)")
            case .handshaking(let host): add("handshaking \(host)")
            case .headSent: add("head sent")
            case .sent: add("sent")
            }
        }

        func transferIsConnected() {
            add("connected")
            if observesSteps { transfer.withLock { $0 }?.reportSending() }
        }

        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { add("head") }
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}

        func transferDidEnd(_ end: TransferEnd) {
            add("ended\(end.report.isConnectionKept.map { $0 ? " kept" : " closed" } ?? "")")
            transfer.withLock { $0 = nil }
            whenEnded()
        }
    }

    /// Runs a transfer to its end, and returns its steps.
    private static func steps(
        _ options: TransferOptions, in run: EngineRun, observed: Bool = true
    ) async -> [String] {
        await withCheckedContinuation { continuation in
            run.executor.submit {
                let kept = Locked<Observer?>(nil)
                let observer = Observer(observed: observed) {
                    continuation.resume(returning: kept.withLock { $0?.all ?? [] })
                    kept.withLock { $0 = nil }
                }
                kept.withLock { $0 = observer }
                observer.start(options, in: run.engine)
            }
        }
    }

    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    /// The first transfer leads the lookup, and the second one waits for it.
    @Test(.enabled(if: NameServer.isAvailable, "needs root, for a resolver configuration"))
    func lookupsAreReportedToAllThatWaitForThem() async {
        await #expect(processExitsWith: .success) {
            let names = try NameServer()
            let server = try LoopbackServer { connection in
                while try connection.nextRequest() != nil { try connection.write(Self.hello) }
            }
            let run = EngineRun()
            let failure = await run.onEngine { () -> String? in
                do { try NameServer.use() } catch { return "\(error)" }
                return nil
            }
            expectInProcess(failure == nil, "a namespace: \(failure ?? "")")
            let options = try EngineRun.get("http://h.lookup.test:\(server.port)/")
            async let first = Self.steps(options, in: run)
            await names.untilAsked(1)
            async let second = Self.steps(options, in: run)
            while await run.onEngine({ run.engine.lookups.waitingCount }) < 1, !Task.isCancelled { await Task.yield() }
            names.release()
            let address = "127.0.0.1:\(server.port)"
            let lookup = ["looking up h.lookup.test", "looked up h.lookup.test"]
            let connection = ["connected", "sent", "head", "ended kept"]
            let (one, other) = await (first, second)
            expectInProcess(one == lookup + ["connecting \(address)"] + connection, "\(one)")
            // The connection of the first one may be free before the second one makes its own.
            let isNew = other.contains("connecting \(address)")
            let own = isNew ? lookup + ["connecting \(address)"] : [lookup[0]]
            expectInProcess(other == own + connection, "\(other)")
            let third = await Self.steps(options, in: run)
            expectInProcess(third == connection, "\(third)")
            await run.finish()
            server.stop()
        }
    }

    @Test func aDelegateThatDoesNotObserveGetsNoSteps() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let run = EngineRun()
        let options = try EngineRun.get(server.url())
        #expect(await Self.steps(options, in: run, observed: false) == ["connected", "head", "ended"])
        #expect(await Self.steps(options, in: run) == ["connected", "sent", "head", "ended kept"])
        await run.finish()
    }

    /// Both addresses of a name are tried if the first one does not answer.
    @Test func eachAddressIsReported() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let run = EngineRun()
        var parts = TransferRoute.Parts()
        parts.addresses = .fixed(["::1", "127.0.0.1"])
        let options = TransferOptions(
            url: try WireURL(parsing: "http://h.invalid:\(server.port)/"), route: TransferRoute(parts), method: "GET")
        let steps = await Self.steps(options, in: run)
        #expect(steps.contains("connecting 127.0.0.1:\(server.port)"))
        #expect(steps.filter { $0.hasPrefix("connecting [::1]:") }.count <= 1)
        #expect(steps.contains("sent") && steps.last == "ended kept")
        await run.finish()
    }
}
