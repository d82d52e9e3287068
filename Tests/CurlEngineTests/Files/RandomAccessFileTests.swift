import Foundation
import Testing

@testable import CurlEngine

/// The last reference to a file may be released on any thread, and its descriptor is closed on one that may wait for a disk.
@Suite(.timeLimit(.minutes(3)))
struct RandomAccessFileTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-file-\(UUID())").path

    /// The names of the threads that have closed files.
    private let threads = Locked<[String]>([])

    private func recordingClosings(_ body: () async throws -> Void) async throws {
        let handler: FileOperationHook.Handler = { [threads] operation, moment in
            guard case .close = operation, moment == .after else { return nil }
            let name = FileManager.default.contents(atPath: "/proc/thread-self/comm") ?? Data()
            threads.withLock { $0.append(String(decoding: name.dropLast(), as: UTF8.self)) }
            return nil
        }
        try await FileOperationHook.$handler.withValue(handler) { try await body() }
    }

    /// The number of open descriptors of the file.
    private var openCount: Int { ProcessFacts.descriptors.count { $0.contains(path) } }

    @Test func aFileIsClosedOnAThreadThatMayWait() async throws {
        try await recordingClosings {
            var file = try RandomAccessFile.created(path: path)
            #expect(file != nil && openCount == 1)
            // The system frees the blocks when the descriptor is closed.
            try FileManager.default.removeItem(atPath: path)
            file = nil
            while threads.withLock({ $0.isEmpty }), !Task.isCancelled { await Task.yield() }
        }
        #expect(threads.withLock { $0 } == ["trellis-block"])
        #expect(openCount == 0)
    }

    /// Most files are released on such a thread, where another one would only cost time.
    @Test func aFileIsClosedAtOnceOnAThreadThatMayWait() async throws {
        let (path, threads) = (path, threads)
        try await recordingClosings {
            let isClosed = await BlockingThreadPool.run { () -> Bool in
                guard (try? RandomAccessFile.created(path: path)) != nil else { return false }
                return threads.withLock { $0.count } == 1
            }
            #expect(isClosed)
        }
        #expect(openCount == 0)
        try FileManager.default.removeItem(atPath: path)
    }
}
