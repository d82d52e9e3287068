import CurlEngine
import Foundation
import Glibc
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The writing of an entry's file while the body is received.
@Suite(.timeLimit(.minutes(3)))
struct CacheFileWriterTests {
    private typealias Samples = DiskSamples

    private let folder: TemporaryFolder
    private let storage: DiskCacheStorage
    /// Whether writes to files no longer wait for anything.
    private let isOver = Locked(false)

    init() throws {
        folder = try TemporaryFolder()
        storage = DiskCacheStorage(directory: folder.path)
    }

    private func makeWriter() async throws -> CacheFileWriter {
        let writer = try await storage.makeWriter(for: Samples.key, Samples.head(), length: nil)
        return try #require(writer as? CacheFileWriter)
    }

    /// Runs `body`, while each write to a file waits until a condition is true, which is given the range of the write.
    private func holdingWrites(
        until condition: @escaping @Sendable (Range<Int64>) -> Bool, _ body: () async throws -> Void
    ) async throws {
        let isOver = isOver
        let handler: FileOperationHook.Handler = { operation, moment in
            guard case .write(_, let range) = operation, moment == .before else { return nil }
            while !condition(range), !isOver.withLock({ $0 }) { sched_yield() }
            return nil
        }
        try await withTaskCancellationHandler {
            // A job that has not ended yet waits no longer than the test.
            defer { isOver.withLock { $0 = true } }
            try await FileOperationHook.$handler.withValue(handler) { try await body() }
        } onCancel: {
            isOver.withLock { $0 = true }
        }
    }

    /// Few and many bytes at a time, at any place in a block, are stored in their order.
    @Test(arguments: [
        [1, 70_000, 3, 65_536, 65_535, 200_000, 300_000, 5, 2_500_000, 10], [2_000_000], [65_536], [65_535, 1],
        [1, 1, 65_534], [1_048_576, 1_048_576, 1], [100, 100_000],
    ])
    func piecesOfAnySizeAreReadBack(_ sizes: [Int]) async throws {
        let body = Samples.body(sizes.reduce(0, +))
        let writer = try await makeWriter()
        var start = 0
        for size in sizes {
            try await writer.write(body[start..<start + size])
            start += size
        }
        try await writer.commit()
        #expect(try await Samples.bodies(in: storage) == [body])
        await storage.close()
    }

    @Test func bytesAreTakenWhileOthersAreWritten() async throws {
        let body = Samples.body(1_500_000)
        let writer = try await makeWriter()
        let isTaken = Locked(false)
        try await holdingWrites(until: { _ in isTaken.withLock { $0 } }) {
            try await writer.write(body.prefix(1 << 20))
            try await writer.write(body.dropFirst(1 << 20))
            isTaken.withLock { $0 = true }
            try await writer.commit()
        }
        #expect(try await Samples.bodies(in: storage) == [body])
        await storage.close()
    }

    /// A disk that is slower than the network does not fill the memory.
    @Test func aSlowDiskHoldsTheWriterUp() async throws {
        let body = Samples.body(5_000_000)
        let writer = try await makeWriter()
        let (added, largest) = (Locked<Int64>(0), Locked<Int64>(0))
        let isOver = isOver
        let isHeldUp: @Sendable (Range<Int64>) -> Bool = { range in
            let waiting = added.withLock { $0 } - range.lowerBound
            largest.withLock { $0 = max($0, waiting) }
            return writer.isHeldUp
        }
        try await holdingWrites(until: isHeldUp) {
            for start in stride(from: 0, to: body.count, by: 50_000) {
                try await writer.write(body[start..<start + 50_000])
                added.withLock { $0 += 50_000 }
            }
            isOver.withLock { $0 = true }
            try await writer.commit()
        }
        #expect(largest.withLock { $0 } < 3 << 20)
        #expect(try await Samples.bodies(in: storage) == [body])
        await storage.close()
    }

    @Test func aFailureOfTheDiskIsThrownLater() async throws {
        let writer = try await makeWriter()
        let handler: FileOperationHook.Handler = { operation, moment in
            if case .write = operation, moment == .before { return FileError(reason: "No space left") }
            return nil
        }
        await FileOperationHook.$handler.withValue(handler) {
            let failure = await #expect(throws: FileFailure.self) {
                try await writer.write(Data(count: 1 << 20))
                try await writer.commit()
            }
            #expect(failure?.reason == "No space left")
        }
        await writer.discard()
        #expect(Samples.files(in: folder).isEmpty)
        await storage.close()
    }

    @Test func whatIsDroppedDuringAWriteLeavesNothing() async throws {
        let writer = try await makeWriter()
        try await holdingWrites(until: { _ in writer.isHeldUp }) {
            try await writer.write(Data(count: 1 << 20))
            await writer.discard()
        }
        #expect(Samples.files(in: folder).isEmpty)
        await storage.close()
    }
}
