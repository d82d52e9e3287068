import Testing
import TrellisTesting

@testable import CurlEngine

/// The objects of users that engine threads release: all objects of one turn are released by one task, on the pool.
@Suite(.timeLimit(.minutes(3)))
struct UserObjectsTests {
    /// The release of one object.
    private struct Release {
        let isOnEngine: Bool
        /// The hash value of the task that released the object; `nil` if no task did.
        let task: Int?
    }

    /// A record of releases, until a number of objects were released.
    private final class Releases: Sendable {
        private let list = Locked<[Release]>([])
        private let count: Int
        private let areComplete = LoopbackServer.Gate()

        init(_ count: Int) { self.count = count }

        func record() {
            let task = unsafe withUnsafeCurrentTask { unsafe $0?.hashValue }
            let release = Release(isOnEngine: CallingThread.isEngine, task: task)
            let isComplete = list.withLock { list in
                list.append(release)
                return list.count == count
            }
            if isComplete { areComplete.open() }
        }

        /// Returns all releases, when their number is complete.
        func all() async throws -> [Release] {
            try await areComplete.opened()
            return list.withLock { $0 }
        }
    }

    /// An object of a user's.
    private final class Object: Sendable {
        private let releases: Releases
        init(_ releases: Releases) { self.releases = releases }
        deinit { releases.record() }
    }

    /// The owner of two objects of a user's.
    private final class Owner: Sendable {
        private let objects: [Object]
        init(_ releases: Releases) { objects = [Object(releases), Object(releases)] }
        deinit { UserObjects.release(objects) }
    }

    private static func owners(_ count: Int, _ releases: Releases) -> Locked<[Owner]> {
        Locked((0..<count).map { _ in Owner(releases) })
    }

    @Test func theObjectsOfOneTurnAreReleasedByOneTask() async throws {
        let engine = EngineExecutor(), releases = Releases(128)
        let owners = Self.owners(64, releases)
        engine.submit { owners.withLock { $0 = [] } }
        let all = try await releases.all()
        #expect(all.count { $0.isOnEngine } == 0)
        #expect(all.count { $0.task == nil } == 0)
        #expect(Set(all.map(\.task)).count == 1)
        await engine.shutDown()
    }

    /// The next turn may begin before the task of the last one.
    @Test func theObjectsOfManyTurnsAreReleasedOnThePool() async throws {
        let engine = EngineExecutor(), releases = Releases(400)
        for _ in 0..<200 {
            let owners = Self.owners(1, releases)
            engine.submit { owners.withLock { $0 = [] } }
        }
        let all = try await releases.all()
        #expect(all.count { $0.isOnEngine } == 0)
        await engine.shutDown()
    }

    /// Late work runs on an engine thread too.
    @Test func theObjectsOfLateWorkAreReleasedOnThePool() async throws {
        let engine = EngineExecutor(), releases = Releases(20)
        await EngineExecutorTests.passThrough(engine)
        await engine.shutDown()
        let owners = Self.owners(10, releases)
        engine.submit { owners.withLock { $0 = [] } }
        let all = try await releases.all()
        #expect(all.count { $0.isOnEngine } == 0)
    }

    /// The thread of the caller is no engine's, and has the last reference.
    @Test func theObjectsThatOtherThreadsReleaseAreReleasedAtOnce() async throws {
        let releases = Releases(20)
        Self.owners(10, releases).withLock { $0 = [] }
        #expect(try await releases.all().count == 20)
    }
}
