import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Requests under a bandwidth limit, on a clock that the test advances.
@Suite(.timeLimit(.minutes(3)))
struct BandwidthTests {
    private static let limit = BandwidthLimit(bytesPerSecond: 1000)

    private func answer(
        _ scripted: Scripted, _ request: Request = Request("http://slow.example/")
    ) async throws -> (Task<Int, any Error>, ScriptedAttempt) {
        let answer = Task { try await scripted.session.data(request).0.count }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        await scripted.session.settle()
        return (answer, attempt)
    }

    @Test func aDownloadIsPausedWhenItHasUsedWhatItWasGranted() async throws {
        let scripted = Scripted()
        let request = Request("http://slow.example/").withBandwidth(download: Self.limit)
        let (answer, attempt) = try await answer(scripted, request)
        attempt.receiveBody(Data(count: 49))
        #expect(attempt.commands == [], "one is left of what it may")
        attempt.receiveBody(Data(count: 951))
        await scripted.session.settle()
        #expect(attempt.commands == [.pauseReceiving(true)])
        // 1,000 bytes are spent, of which 100 were a burst; the next turn needs 50 more.
        await scripted.advance(by: .milliseconds(949))
        #expect(attempt.commands == [.pauseReceiving(true)])
        await scripted.advance(by: .milliseconds(1))
        #expect(attempt.commands == [.pauseReceiving(true), .pauseReceiving(false)])
        attempt.receiveBody(Data(count: 10))
        attempt.end()
        #expect(try await answer.value == 1010)
        #expect(await scripted.timerCount == 0)
        await scripted.session.shutdown()
    }

    @Test func theGateOfARequestIsReleasedWithIt() async throws {
        let scripted = Scripted()
        let session = scripted.session
        let prepared = try session.preparation.prepare(
            Request("http://slow.example/").withBandwidth(download: Self.limit), delivery: .memory,
            start: .init(nanoseconds: 0),
            callID: 1)
        weak var gate: BandwidthGate?
        do {
            let exchange = session.makeExchange(prepared)
            gate = await exchange.flow?.receiving.gates.first
            let answer = Task { try await exchange.collected().0.count }
            let attempt = try await scripted.transport.nextAttempt()
            attempt.connect()
            attempt.receiveHead()
            await session.settle()
            #expect(gate != nil)
            attempt.receiveBody(Data(count: 1000))
            await session.settle()
            await scripted.advance(by: .seconds(1))
            #expect(attempt.commands == [.pauseReceiving(true), .pauseReceiving(false)])
            attempt.end()
            #expect(try await answer.value == 1000)
        }
        await session.settle()
        #expect(gate == nil)
        await session.shutdown()
    }

    @Test func twoDownloadsOfASessionTakeTurns() async throws {
        let scripted = Scripted { $0.bandwidth.download = Self.limit }
        let (first, one) = try await answer(scripted)
        let (second, two) = try await answer(scripted)
        var received = [0, 0]
        // Each transfer moves 10 bytes whenever it may, for ten seconds.
        for _ in 0..<1000 {
            for (index, attempt) in [one, two].enumerated() where !attempt.isPaused {
                attempt.receiveBody(Data(count: 10))
                received[index] += 10
            }
            await scripted.advance(by: .milliseconds(10))
        }
        #expect(abs(received[0] - received[1]) <= 100, "\(received)")
        #expect((9_800...10_200).contains(received[0] + received[1]), "\(received)")
        one.end()
        two.end()
        _ = try await (first.value, second.value)
        #expect(await scripted.timerCount == 0)
        await scripted.session.shutdown()
    }

    @Test func aRequestThatComesWhileAllIsUsedUpWaitsForItsTurn() async throws {
        let scripted = Scripted { $0.bandwidth.download = Self.limit }
        let (first, one) = try await answer(scripted)
        one.receiveBody(Data(count: 1000))
        let (second, two) = try await answer(scripted)
        #expect(two.commands == [.pauseReceiving(true)])
        one.end()
        #expect(try await first.value == 1000)
        // The next transfers pay for the bytes that the first one has spent in advance.
        await scripted.advance(by: .milliseconds(949))
        #expect(two.commands == [.pauseReceiving(true)])
        await scripted.advance(by: .milliseconds(1))
        #expect(two.commands == [.pauseReceiving(true), .pauseReceiving(false)])
        two.end()
        #expect(try await second.value == 0)
        await scripted.session.shutdown()
    }

    @Test func anUploadIsSentAtItsPace() async throws {
        let scripted = Scripted()
        let chunks = AsyncStream<Data> { continuation in
            for _ in 0..<5 { continuation.yield(Data(count: 100)) }
            continuation.finish()
        }
        let request = Request("http://slow.example/", method: .post, body: .stream(chunks, length: 500))
            .withBandwidth(upload: Self.limit)
        let answer = Task { try await scripted.session.data(request).1.status.code }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        // The source runs on another executor: the clock stands still until the source has delivered the permitted bytes.
        let chunk = ScriptedAttempt.Command.send(Data(count: 100))
        try await attempt.wait(for: chunk)
        var (now, times) = (0, [0])
        for count in 2...5 {
            attempt.needBody()
            await scripted.session.settle()
            while attempt.isSendingPaused, attempt.count(of: chunk) < count, !Task.isCancelled {
                await scripted.advance(by: .milliseconds(10))
                now += 10
            }
            try await attempt.wait(for: chunk, count: count)
            times.append(now)
        }
        // The first chunk is a burst; every further chunk has to be earned, together with the quantum of its turn.
        #expect(times == [0, 50, 150, 250, 350])
        try await attempt.wait(for: .finishSending)
        attempt.receiveHead(status: 204)
        attempt.end()
        #expect(try await answer.value == 204)
        #expect(await scripted.timerCount == 0)
    }

    @Test func aLimitHoldsUpNoIdleTimeout() async throws {
        let scripted = Scripted { $0.timeouts = Timeouts(idle: .seconds(1), total: nil) }
        let request = Request("http://slow.example/").withBandwidth(download: Self.limit)
        let (answer, attempt) = try await answer(scripted, request)
        attempt.receiveBody(Data(count: 100_000))
        await scripted.advance(by: .seconds(50))
        #expect(attempt.count(of: .cancel) == 0)
        answer.cancel()
        await #expect(throws: CancellationError.self) { try await answer.value }
        #expect(await scripted.timerCount == 0)
    }

    @Test func bothTheReaderAndTheLimitHoldATransferUp() async throws {
        let scripted = Scripted { $0.timeouts = .endless }
        let request = Request("http://slow.example/").withBandwidth(download: BandwidthLimit(bytesPerSecond: 1 << 20))
        let stream = Task { try await scripted.session.stream(request) }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        let response = try await stream.value
        attempt.receiveBody(Data(count: 2 << 20))
        await scripted.advance(by: .seconds(10))
        #expect(attempt.commands == [.pauseReceiving(true)], "the limit would let it go on, its reader does not")
        var iterator = response.chunks.makeAsyncIterator()
        var rest = 2 << 20
        while rest > 0 { rest -= try #require(try await iterator.next()).count }
        await scripted.session.settle()
        #expect(attempt.commands == [.pauseReceiving(true), .pauseReceiving(false)])
        response.cancel()
    }

    /// Joining a limit does not copy the accounts: a copy would make each new transfer cost as much as all before it, on the
    /// engine thread.
    @Test func joiningALimitCopiesNobodysAccount() async throws {
        let scripted = Scripted {
            $0.bandwidth.download = Self.limit
            $0.limits.total = 200
            $0.limits.perOrigin = 200
        }
        let session = scripted.session
        let flow = session.flow(of: Request("http://slow.example/"))
        let gate = try #require(flow?.receiving.gates.first)
        var (address, moves) = (UInt(0), 0)
        var answers: [Task<Int, any Error>] = []
        for _ in 0..<200 {
            answers.append(try await answer(scripted).0)
            let now = try storageAddress("state", "value", "share", "accounts", in: gate)
            if now != address { moves += 1 }
            address = now
        }
        // The accounts move only as they grow, to twice the size each time.
        #expect(moves <= 10)
        for answer in answers { answer.cancel() }
        await scripted.session.shutdown()
    }

    @Test func withoutALimitThereIsNothing() async throws {
        let scripted = Scripted()
        let request = Request("http://fast.example/").withBandwidth()
        #expect(scripted.session.flow(of: request) == nil)
        let plain = Request("http://fast.example/")
        #expect(scripted.session.flow(of: plain) == nil)
    }
}

extension ScriptedAttempt {
    /// Whether the last call was to pause receiving.
    fileprivate var isPaused: Bool {
        commands.last { if case .pauseReceiving = $0 { true } else { false } } == .pauseReceiving(true)
    }

    /// Whether the last call was to pause sending.
    fileprivate var isSendingPaused: Bool {
        commands.last { if case .pauseSending = $0 { true } else { false } } == .pauseSending(true)
    }
}
