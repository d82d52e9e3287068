import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The end of a coded body is delayed until a paused reader continues: the body has arrived, but the decoder still has bytes.
@Suite(.timeLimit(.minutes(3)))
struct PausedEndTests {
    /// A duration after which the engine keeps nothing that is unused.
    static let longerThanTheIdleLifetime = Duration.seconds(1000)

    @Test func aReaderThatRestsBeyondTheIdleLifetimeGetsTheEnd() async throws {
        let run = try PausedRun(body: try Self.coded(1 << 20), pausesAt: .body)
        try await run.until { $0.transfer?.receiving.heldEnd != nil }
        #expect(await run.onEngine { $0.received } < 1 << 20, "the rest is held back")
        await run.advance(by: Self.longerThanTheIdleLifetime)
        #expect(await run.onEngine { $0.engine.openSocketCount } == 0, "the engine has let its connections go")
        await run.goOn()
        let end = try await run.end()
        #expect(end.failure == nil)
        #expect(await run.onEngine { $0.received } == 1 << 20)
        await run.finish()
    }

    @Test func aRestAfterEveryPieceLosesNothing() async throws {
        let run = try PausedRun(body: try Self.coded(1 << 20), pausesAt: .everyPiece)
        var pieces = 0
        while await run.onEngine({ $0.ended == nil }) {
            try Task.checkCancellation()
            pieces += 1
            await run.advance(by: Self.longerThanTheIdleLifetime)
            await run.goOn()
        }
        #expect(pieces >= (1 << 20) / ContentDecoder.pieceSize)
        #expect(try await run.end().failure == nil)
        #expect(await run.onEngine { $0.received } == 1 << 20)
        await run.finish()
    }

    @Test func cancellingMeanwhileIsTheEnd() async throws {
        let run = try PausedRun(body: try Self.coded(1 << 20), pausesAt: .body)
        try await run.until { $0.transfer?.receiving.heldEnd != nil }
        await run.onEngine { $0.transfer?.cancel() }
        await run.goOn()
        await run.advance(by: Self.longerThanTheIdleLifetime)
        #expect(await run.onEngine { $0.ended == nil }, "the delegate is not told after a cancellation")
        await run.finish()
    }

    /// Damage in delayed bytes is only detected when the reader continues, both in the middle of the message and after its end.
    @Test(arguments: [0, 10])
    func whatWasHeldBackMayBeWrong(_ missing: Int) async throws {
        let good = try Self.coded(1 << 20)
        let body = good.dropLast(8) + Data(repeating: 0xFF, count: 8)
        let run = try PausedRun(body: body, announcing: body.count + missing, pausesAt: .body)
        if missing == 0 {
            try await run.until { $0.transfer?.receiving.heldEnd != nil }
        } else {
            try await run.until { $0.received > 0 }
        }
        await run.goOn()
        #expect(try await run.end().failure?.kind == .contentCoding)
        await run.finish()
    }

    /// The end of a pause may deliver malformed bytes, because the first bytes of the body are kept until then.
    @Test func theEndOfAPauseMayBringWhatIsWrong() async throws {
        let run = try PausedRun(
            body: Data("this is no stream".utf8), announcing: 1000, pausesAt: .head)
        try await run.until { ($0.transfer?.pauses.applied ?? 0) & 1 != 0 }
        #expect(await run.onEngine { $0.ended == nil })
        await run.goOn()
        #expect(try await run.end().failure?.kind == .contentCoding)
        await run.finish()
    }

    /// One pass of the event loop decodes at most a few megabytes: a few kilobytes on the wire can decode to many megabytes, and other
    /// transfers must run in between.
    @Test func aTurnDecodesNoMoreThanAFewMegabytes() async throws {
        let run = try PausedRun(body: Self.coded(16 << 20), pausesAt: .never)
        #expect(try await run.end().failure == nil)
        let (received, most) = await run.onEngine { ($0.received, $0.mostInTurn) }
        #expect(received == 16 << 20)
        #expect(most <= 4 << 20 + ContentDecoder.pieceSize)
        await run.finish()
    }

    private static func coded(_ count: Int) throws -> Data {
        let encoder = try #require(ContentEncoder(.gzip))
        return try encoder.encode(Data(count: count), isLast: true)
    }
}

/// A transfer of a coded body, with a reader that pauses.
private struct PausedRun {
    /// The delegate of the transfer, which is used on the engine thread.
    final class Reader: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        enum Moment { case head, body, everyPiece, never }

        let engine: CurlEngine
        let moment: Moment
        var transfer: Transfer?
        var received = 0
        var receivedInTurn = 0
        var mostInTurn = 0
        var ended: TransferEnd?

        init(_ engine: CurlEngine, _ moment: Moment) { (self.engine, self.moment) = (engine, moment) }

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { if moment == .head { transfer?.pauseReceiving(true) } }
        func transferDidReceiveBody(_ bytes: RawSpan) {
            if received == 0 && moment == .body || moment == .everyPiece { transfer?.pauseReceiving(true) }
            received += bytes.byteCount
            // A submitted call runs in the next turn.
            if receivedInTurn == 0 { engine.submit { [self] in receivedInTurn = 0 } }
            receivedInTurn += bytes.byteCount
            mostInTurn = max(mostInTurn, receivedInTurn)
        }
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) { ended = end }
    }

    private let clock = TestClock()
    private let executor: EngineExecutor
    private let reader: Reader
    private let server: LoopbackServer

    init(body: Data, announcing length: Int? = nil, pausesAt moment: Reader.Moment) throws {
        executor = EngineExecutor(clock: clock.engineSide)
        reader = Reader(CurlEngine(executor: executor, configuration: EngineConfiguration()), moment)
        server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                try connection.write(Data("\(head)Content-Length: \(length ?? body.count)\r\n\r\n".utf8) + body)
            }
        }
        let options = TransferOptions(url: try WireURL(parsing: server.url()), method: "GET", version: .http1)
        executor.submit { [reader] in reader.transfer = reader.engine.start(options, delegate: reader) }
    }

    func onEngine<Result: Sendable>(_ body: @escaping @Sendable (Reader) -> Result) async -> Result {
        await withContinuation { continuation in
            executor.submit { [reader] in continuation.resume(returning: body(reader)) }
        }
    }

    func until(_ condition: @escaping @Sendable (Reader) -> Bool) async throws {
        while await !onEngine(condition) { try Task.checkCancellation() }
    }

    /// Moves the clock, and lets the engine run a few turns.
    func advance(by duration: Duration) async {
        clock.move(by: duration)
        for _ in 0..<4 { await onEngine { _ in } }
    }

    func goOn() async { await onEngine { $0.transfer?.pauseReceiving(false) } }

    func end() async throws -> TransferEnd {
        try await until { $0.ended != nil }
        return try #require(await onEngine { $0.ended })
    }

    func finish() async {
        // The delegate and the transfer refer to each other.
        await onEngine {
            $0.transfer?.cancel()
            $0.transfer = nil
        }
        await executor.shutDown()
    }
}
