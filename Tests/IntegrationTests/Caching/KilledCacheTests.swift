import CurlEngine
import Foundation
import Glibc
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A folder that ten processes share, each of which is really killed at a random moment: never a wrong byte, never two owners, and nothing
/// is left over. The processes are those of `CacheWorker`, which check all that they read.
@Suite(.timeLimit(.minutes(5)))
struct KilledCacheTests {
    /// The end of a process.
    private struct End: Sendable, Hashable {
        let seed: Int
        let status: CInt

        var signal: CInt { status & 0x7F }
        var exitStatus: CInt { status >> 8 & 0xFF }
    }

    /// The number of processes; 500 with `Tests/run.sh --all`, unless `TRELLIS_TEST_CACHE_KILLS` has another one.
    private static let count =
        ProcessInfo.processInfo.environment["TRELLIS_TEST_CACHE_KILLS"].flatMap { Int($0) } ?? (Scale.isFull ? 500 : 10)

    private let folder: Folder
    private let program: String

    init() throws {
        folder = try Folder()
        let bundle = try #require(RunningLibcurl.loaded.first { $0.hasSuffix("PackageTests.xctest") })
        program = URL(filePath: bundle).deletingLastPathComponent().appending(path: "CacheWorker").path
    }

    private var path: String { folder("cache") }

    /// Runs a process to its end.
    private static func run(_ program: String, _ path: String, _ seed: Int) -> End {
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [program, path, "\(seed)"].map { (text: String) in
            unsafe strdup(text)
        }
        unsafe arguments.append(nil)
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var pid = pid_t()
        guard unsafe posix_spawn(&pid, program, nil, nil, &arguments, environ) == 0 else {
            return End(seed: seed, status: -1)
        }
        var status: CInt = 0
        while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return End(seed: seed, status: status)
    }

    /// Runs the processes, ten at a time, each on a thread that waits for it.
    private func runAll(_ count: Int) async -> [End] {
        let (program, path, next) = (program, path, Locked(0))
        return await withTaskGroup(of: [End].self) { group in
            for _ in 0..<10 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            var ends: [End] = []
                            while true {
                                let seed = next.next()
                                if seed > count { return continuation.resume(returning: ends) }
                                ends.append(Self.run(program, path, seed))
                            }
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    @Test func killedProcessesLeaveNoWrongByteAndOneOwner() async throws {
        let ends = await runAll(Self.count)
        #expect(ends.count == Self.count)
        #expect(ends.filter { $0.signal != SIGKILL }.map { "seed \($0.seed): \($0.exitStatus)" } == [])
        // A process that is not killed finds what it can use.
        #expect(Self.run(program, path, 0) == End(seed: 0, status: 0))
        let storage = DiskCacheStorage(directory: path, maximumSize: 4 << 20, maximumCount: 10)
        _ = try await storage.entries(for: CacheKey(url: "http://localhost/0"))
        #expect(storage.isOwner)
        await storage.settle()
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/entries-1/new") == [])
        let usage = try await storage.usage
        #expect(usage.count <= 10 && usage.size <= 4 << 20)
        var count = 0
        for try await key in storage.keys { count += try await storage.entries(for: key).count }
        #expect(count == usage.count)
        await storage.close()
    }
}
