import Testing
import TrellisTesting

@testable import CurlEngine

/// The bytes that an engine decodes in one turn of its loop.
@Suite(.timeLimit(.minutes(3)))
struct DecodingTurnTests {
    /// The decoded bytes of each turn.
    private final class Turns: @unchecked Sendable {
        // Unchecked: accessed only on the engine thread, and after its end.
        private var turn = EngineInstant(nanoseconds: 0)
        private var bytes = 0
        private(set) var largest = 0

        func note(_ count: Int, in turn: EngineInstant) {
            if self.turn != turn { (self.turn, bytes) = (turn, 0) }
            bytes += count
            largest = max(largest, bytes)
        }
    }

    /// The reader of one body, which only counts its bytes.
    private final class Reader: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        private let run: EngineRun
        private let turns: Turns
        private let whenEnded: @Sendable (_ count: Int) -> Void
        private var count = 0

        private init(_ run: EngineRun, _ turns: Turns, whenEnded: @escaping @Sendable (Int) -> Void) {
            (self.run, self.turns, self.whenEnded) = (run, turns, whenEnded)
        }

        /// Returns the number of bytes in the response's body.
        static func read(_ options: TransferOptions, _ run: EngineRun, _ turns: Turns) async -> Int {
            await withContinuation { continuation in
                let reader = Reader(run, turns) { continuation.resume(returning: $0) }
                run.executor.submit { _ = run.engine.start(options, delegate: reader) }
            }
        }

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {
            count += bytes.byteCount
            turns.note(bytes.byteCount, in: run.executor.engineLoop.systemNow)
        }
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) { whenEnded(end.failure == nil ? count : -1) }
    }

    @Test func transfersThatNeedLittleGoOnInOneTurn() async throws {
        let (run, count) = (EngineRun(), 200)
        let options = try EngineRun.get("http://127.0.0.1:9/")
        let yielding = Locked(-1)
        await run.onEngine {
            let transfers = (0..<count).map { _ in run.engine.makeTransfer(options) }
            for transfer in transfers {
                transfer.pauses.isYielding = true
                run.engine.decoding.enter(transfer)
                run.engine.resumeDecodingSoon()
            }
            run.executor.submit { yielding.withLock { $0 = transfers.count { $0.pauses.isYielding } } }
        }
        await run.onEngine {}
        #expect(yielding.withLock { $0 } == 0)
        await run.finish()
    }

    @Test func aTurnThatIsUsedUpLetsOneTransferGoOn() async throws {
        let (run, count) = (EngineRun(), 3)
        let options = try EngineRun.get("http://127.0.0.1:9/")
        let yielding = Locked(-1)
        await run.onEngine {
            let transfers = (0..<count).map { _ in run.engine.makeTransfer(options) }
            run.executor.submit {
                let turn = run.executor.engineLoop.systemNow
                _ = run.engine.decoding.isUsedUp(by: DecodingTurns.limit, turn: turn)
            }
            for transfer in transfers {
                transfer.pauses.isYielding = true
                run.engine.decoding.enter(transfer)
                run.engine.resumeDecodingSoon()
            }
            run.executor.submit { yielding.withLock { $0 = transfers.count { $0.pauses.isYielding } } }
        }
        await run.onEngine {}
        #expect(yielding.withLock { $0 } == count - 1)
        await run.finish()
    }

    @Test func theLimitHoldsForAllTransfersTogether() async throws {
        let (size, count) = (16 << 20, 8)
        let bomb = try Coded.encode([UInt8](repeating: 0, count: size), .gzip, chunk: 1 << 20)
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
            try connection.write(bomb)
        }
        let (run, turns) = (EngineRun(), Turns())
        let options = try EngineRun.get("http://127.0.0.1:\(server.port)/")
        let counts = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { await Reader.read(options, run, turns) } }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(counts == Array(repeating: size, count: count))
        await run.finish()
        #expect(turns.largest >= DecodingTurns.limit)
        #expect(turns.largest <= DecodingTurns.limit + count * ContentDecoder.pieceSize)
    }
}
