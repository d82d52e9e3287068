import CurlEngine
import FoundationEssentials
import Synchronization
import Testing
import TrellisTesting

@testable import TrellisCore

/// The buffer of a response body between the engine and its reader.
@Suite(.timeLimit(.minutes(3)))
struct BodyInboxTests {
    private final class Counts: Sendable {
        let drained = Atomic(0)
        let abandoned = Atomic(0)
    }

    private let counts = Counts()
    private let inbox: BodyInbox
    private static let response = Response(head: ResponseHead(status: .ok), url: "http://localhost/")

    init() {
        inbox = BodyInbox { [counts] in
            counts.drained.add(1, ordering: .relaxed)
        } whenAbandoned: { [counts] in
            counts.abandoned.add(1, ordering: .relaxed)
        }
    }

    private var drained: Int { counts.drained.load(ordering: .relaxed) }
    private var abandoned: Int { counts.abandoned.load(ordering: .relaxed) }

    @discardableResult
    private func append(_ count: Int, of byte: UInt8 = 1) -> BodyInbox.Consequence {
        let bytes = [UInt8](repeating: byte, count: count)
        return bytes.withBytes { inbox.append($0) }
    }

    @Test func whatComesWhileTheReaderIsBusyIsOneChunk() async throws {
        append(2, of: 1)
        append(3, of: 2)
        #expect(try await inbox.next() == Data([1, 1, 2, 2, 2]))
    }

    @Test func theEndComesAfterWhatWaits() async throws {
        append(1)
        inbox.finish(.success(Self.response))
        #expect(inbox.hasEnded)
        #expect(try await inbox.next() == Data([1]))
        #expect(try await inbox.next() == nil)
        #expect(try await inbox.next() == nil)
    }

    @Test func aFailureComesAfterWhatWaitsAndStays() async throws {
        append(1)
        inbox.finish(.failure(TrellisError(.other("x"))))
        #expect(try await inbox.next() == Data([1]))
        for _ in 0..<2 { await #expect(throws: TrellisError.self) { try await inbox.next() } }
    }

    /// A cancelled read ends the transfer, and bytes that arrive until the transfer has ended are dropped; the next reader does
    /// not take the body for complete.
    @Test func aReaderBehindACancelledOneIsNotToldThatTheBodyIsWhole() async throws {
        let reading = Task { [inbox] in try await inbox.next() }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        append(1)
        inbox.finish(.success(Self.response))
        await #expect(throws: CancellationError.self) { try await inbox.next() }
        await #expect(throws: CancellationError.self) { try await inbox.finalResponse() }
    }

    @Test func aReaderBehindACancelledOneGetsWhatHadEndedBefore() async throws {
        append(1)
        inbox.finish(.success(Self.response))
        let gate = LoopbackServer.Gate()
        let reading = Task { [inbox] in
            try? await gate.opened()
            return try await inbox.next()
        }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(try await inbox.next() == Data([1]))
        #expect(try await inbox.next() == nil)
    }

    @Test func theFirstEndCounts() async throws {
        inbox.finish(.success(Self.response))
        inbox.finish(.failure(TrellisError(.other("x"))))
        #expect(try await inbox.next() == nil)
    }

    // MARK: Backpressure

    @Test func theTransferIsPausedOnceAtTheHighWaterMark() {
        #expect(!append(BodyInbox.highWater - 1).mustPause)
        #expect(append(1).mustPause)
        #expect(!append(1).mustPause, "it is paused already")
        #expect(drained == 0)
    }

    /// Reads until this number of bytes has arrived.
    private func read(_ count: Int) async throws {
        var rest = count
        while rest > 0 { rest -= try #require(try await inbox.next()).count }
        #expect(rest == 0)
    }

    @Test func readingLetsAPausedTransferGoOnOnce() async throws {
        append(BodyInbox.highWater)
        try await read(BodyInbox.highWater)
        #expect(drained == 1)
        append(1)
        try await read(1)
        #expect(drained == 1)
        append(BodyInbox.highWater)
        try await read(BodyInbox.highWater)
        #expect(drained == 2)
    }

    @Test func aPausedTransferGoesOnWhenHalfIsRead() async throws {
        append(BodyInbox.highWater + 1)
        try await read(BodyInbox.highWater / 2)
        #expect(drained == 0)
        _ = try await inbox.next()
        #expect(drained == 1)
    }

    @Test func aTransferThatHasEndedIsNotLetGoOn() async throws {
        append(BodyInbox.highWater)
        inbox.finish(.success(Self.response))
        try await read(BodyInbox.highWater)
        #expect(drained == 0)
    }

    // MARK: A reader that waits

    /// Starts a task that waits for a chunk, and returns once the reader waits.
    private func waitingReader() async -> Task<Data?, any Error> {
        let reader = Task { [inbox] in try await inbox.next() }
        // The reader waits once an added chunk would wake it; an empty span adds nothing.
        while !isAwaited(), !Task.isCancelled { await Task.yield() }
        return reader
    }

    /// Returns whether a reader waits, by adding nothing to an empty inbox.
    private func isAwaited() -> Bool { append(0).wake == .soon }

    @Test func aWaitingReaderIsWokenWithAllThatHasCome() async throws {
        let reader = await waitingReader()
        #expect(append(1, of: 1).wake == .soon)
        #expect(append(1, of: 2).wake == .never, "it is woken already")
        inbox.wake()
        #expect(try await reader.value == Data([1, 2]))
    }

    @Test func aLargeChunkWakesTheReaderAtOnce() async throws {
        let reader = await waitingReader()
        #expect(append(BodyInbox.eagerWake).wake == .now)
        inbox.wake()
        #expect(try await reader.value?.count == ChunkQueue.chunkSize)
    }

    @Test func wakingWithoutAnythingWakesNobody() async throws {
        inbox.wake()
        let reader = await waitingReader()
        inbox.wake()
        #expect(isAwaited())
        inbox.finish(.success(Self.response))
        #expect(try await reader.value == nil)
    }

    @Test func aWaitingReaderGetsWhatCameBeforeTheEnd() async throws {
        let reader = await waitingReader()
        append(1)
        inbox.finish(.success(Self.response))
        #expect(try await reader.value == Data([1]))
        #expect(try await inbox.next() == nil)
    }

    @Test func aSecondReaderAtTheSameTimeIsAnError() async throws {
        let reader = await waitingReader()
        await #expect(throws: TrellisError.self) { try await inbox.next() }
        append(1)
        inbox.wake()
        #expect(try await reader.value == Data([1]))
    }

    // MARK: Cancellation

    @Test func cancellingAWaitingReaderAbandonsTheBody() async throws {
        let reader = await waitingReader()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(abandoned == 1)
        append(5)
        #expect(append(BodyInbox.highWater).mustPause == false, "what nobody will read is not kept")
    }

    @Test func aCancelledTaskDoesNotReadWhatIsThere() async {
        append(1)
        let reader = Task { [inbox] in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await inbox.next()
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(abandoned == 1)
    }

    @Test func theFinalResponseDropsWhatWasNotRead() async throws {
        append(10)
        inbox.finish(.success(Self.response))
        #expect(try await inbox.finalResponse().status == .ok)
    }
}
