import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A disk that hangs holds no call beyond its end, and one that stores, finds, changes or removes a response for some seconds only.
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

    /// A use of the disk before the end of a response: the search for a stored one, the opening of the folder, the update by a 304, and the
    /// removal by an unsafe request.
    enum Use: CaseIterable { case search, opening, update, removal }

    /// Moves the clock until a call without limits has its response.
    private func moveOn(_ world: CacheWorld, _ request: Request) async throws -> Data {
        let hasEnded = Locked(false)
        let call = Task {
            defer { hasEnded.withLock { $0 = true } }
            // The moves are no time of the mock.
            let limits = Timeouts(connect: nil, responseHead: nil, idle: nil, total: nil)
            return try await world.session.data(request.withTimeouts(limits)).0
        }
        try await disk.isReached.opened()
        // The wait for the disk may begin after a move.
        while !hasEnded.withLock({ $0 }), !Task.isCancelled {
            clock.move(by: .seconds(5))
            await Task.yield()
        }
        return try await call.value
    }

    @Test(arguments: Use.allCases)
    func aCallGoesOnWithoutItsDisk(_ use: Use) async throws {
        let world = CacheWorld(storage: storage, clock: clock) { request in
            let isValidation = request.headers.contains(.ifNoneMatch)
            let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
            return MockResponse(
                status: isValidation ? 304 : 200, headers: headers, body: Data((isValidation ? "" : "body").utf8))
        }
        if use != .opening {
            try await storage.open()
            _ = try await world.get()
        }
        if use == .update { world.pass(100) }
        var request = Request(CacheWorld.url)
        if use == .removal { request.method = .post }
        try await disk.hanging(at: { use == .update ? Self.isWriting($0) : true }) {
            let data = try await moveOn(world, request)
            #expect(data == Data("body".utf8))
            #expect(world.transport.requests.count == (use == .opening ? 1 : 2))
            disk.goOn()
        }
        await storage.close()
    }

    /// What a disk has not removed in time is not used.
    @Test func whatIsNotRemovedInTimeIsNotUsed() async throws {
        try await storage.open()
        let count = Locked(0)
        let world = CacheWorld(storage: storage, clock: clock) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return CacheWorld.response("\(number)")
        }
        #expect(try await world.get().first == "1")
        try await disk.hanging(at: { _ in true }) {
            let data = try await moveOn(world, Request(CacheWorld.url, method: .post))
            #expect(data == Data("2".utf8))
            disk.goOn()
        }
        #expect(try await world.get().first == "3")
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
