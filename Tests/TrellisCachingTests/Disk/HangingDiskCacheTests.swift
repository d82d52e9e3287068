import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A disk that hangs while a response is stored holds no call beyond its end.
@Suite(.timeLimit(.minutes(3)))
struct HangingDiskCacheTests {
    private let folder: TemporaryFolder
    private let disk = HangingDisk()
    private let clock = TestClock()
    private let storage: DiskCacheStorage

    init() throws {
        folder = try TemporaryFolder()
        storage = DiskCacheStorage(directory: folder.path)
    }

    private func world(size: Int) -> CacheWorld {
        let body = DiskSamples.body(size)
        return CacheWorld(storage: storage, clock: clock) { _ in
            MockResponse(headers: [.cacheControl: "max-age=60"], body: body)
        }
    }

    private static func isWriting(_ operation: FileOperationHook.Operation) -> Bool {
        if case .write = operation { true } else { false }
    }

    /// A small body waits for its disk at its end, and a large one before it.
    @Test(arguments: [100, 8 << 20], [true, false])
    func aCallEndsAtItsDeadlineAndWithItsTask(_ size: Int, _ isCancelled: Bool) async throws {
        try await storage.open()
        let world = world(size: size)
        try await disk.hanging(at: Self.isWriting) {
            let request = Request(CacheWorld.url).withTimeouts(Timeouts(total: .seconds(1)))
            let call = Task { try await world.session.data(request).0.count }
            try await disk.isReached.opened()
            if isCancelled {
                call.cancel()
                // The call may have received all, and returns it without waiting for the disk.
                _ = try? await call.value
            } else {
                await (try world.session).settle()
                clock.move(by: .seconds(1))
                let error = await #expect(throws: TrellisError.self) { try await call.value }
                #expect(error?.reason == .timedOut(.total))
            }
            disk.goOn()
        }
        await storage.close()
    }

    @Test(arguments: [100, 8 << 20])
    func aStreamEndsWithItsTask(_ size: Int) async throws {
        try await storage.open()
        let world = world(size: size)
        try await disk.hanging(at: Self.isWriting) {
            let call = Task {
                for try await _ in try await world.session.stream(CacheWorld.url).chunks {}
            }
            try await disk.isReached.opened()
            call.cancel()
            // The last bytes may have been delivered already.
            _ = try? await call.value
            disk.goOn()
        }
        await storage.close()
    }

    /// The response is delivered, and not stored, if the disk hangs for longer than a response waits for it.
    @Test(arguments: [100, 8 << 20], [true, false])
    func aResponseGoesOnWithoutItsDisk(_ size: Int, _ isStream: Bool) async throws {
        try await storage.open()
        let world = world(size: size)
        try await disk.hanging(at: Self.isWriting) {
            let hasEnded = Locked(false)
            let call = Task {
                defer { hasEnded.withLock { $0 = true } }
                let request = Request(CacheWorld.url).withTimeouts(Timeouts(idle: nil, total: nil))
                guard isStream else { return try await world.session.data(request).0.count }
                var count = 0
                for try await chunk in try await world.session.stream(request).chunks { count += chunk.count }
                return count
            }
            try await disk.isReached.opened()
            // The wait for the disk may begin after a move.
            while !hasEnded.withLock({ $0 }), !Task.isCancelled {
                clock.move(by: .seconds(5))
                await Task.yield()
            }
            #expect(try await call.value == size)
            #expect(world.cache.statistics.storedCount == 0 && world.cache.statistics.failureCount == 1)
            disk.goOn()
        }
        await storage.close()
    }

    @Test func aStreamOfAStoredBodyEndsAtItsDeadline() async throws {
        try await storage.open()
        let world = world(size: 8 << 20)
        _ = try await world.session.data(CacheWorld.url)
        let request = Request(CacheWorld.url).withTimeouts(Timeouts(total: .seconds(1)))
        let stream = try await world.session.stream(request)
        try await disk.hanging(at: HangingDisk.isReading) {
            let hasEnded = Locked(false)
            let reader = Task {
                defer { hasEnded.withLock { $0 = true } }
                for try await _ in stream.chunks {}
            }
            try await disk.isReached.opened()
            // The wait for the disk may begin after a move.
            while !hasEnded.withLock({ $0 }), !Task.isCancelled {
                clock.move(by: .seconds(1))
                await Task.yield()
            }
            let error = await #expect(throws: TrellisError.self) { try await reader.value }
            #expect(error?.reason == .timedOut(.total) && (error?.elapsed ?? .zero) >= .seconds(1))
            disk.goOn()
        }
        // The entry is still there.
        #expect(try await world.storedCount == 1)
        await storage.close()
    }
}
