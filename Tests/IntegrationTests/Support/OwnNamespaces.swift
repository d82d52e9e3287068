import CurlEngine
import Dispatch
import Foundation
import Glibc
import Testing

/// The namespaces of the process, to which threads of the pools return after a test in other namespaces (`namespaces(7)`).
///
/// A thread begins in the namespaces of the thread that starts it. An engine in another network resumes tasks, and so starts threads of
/// the pool. They live longer than the test, and start the engines and the peers of later tests, which then reach no server.
enum OwnNamespaces {
    /// The kinds of namespaces, by their names in `/proc`.
    private static let kinds: [(name: String, flag: CInt)] = [("net", 0x4000_0000), ("mnt", 0x2_0000)]

    /// The number of threads that a pool may have at once, and some more.
    private static let width = 2 * ProcessInfo.processInfo.activeProcessorCount + 2

    /// The queues whose threads run tasks.
    private static let queues = [DispatchQoS.QoSClass.background, .utility, .default, .userInitiated, .userInteractive]
        .map { DispatchQueue.global(qos: $0) }

    /// Returns the namespace of a thread; `nil` if the thread has ended.
    private static func namespace(_ kind: String, of thread: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(thread)/ns/\(kind)")
    }

    /// Whether the calling thread is in the namespaces of the process, which are those of its first thread.
    static var areCurrent: Bool { kinds.allSatisfy { isAtHome($0.name, "thread-self") } }

    private static func isAtHome(_ kind: String, _ thread: String) -> Bool {
        guard let own = namespace(kind, of: thread) else { return true }
        return own == namespace(kind, of: "self")
    }

    /// Whether a thread of the process is in other namespaces. The thread that watches the engines does not count, because it
    /// opens neither sockets nor files.
    private static var hasStrays: Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains { thread in
            guard !kinds.allSatisfy({ isAtHome($0.name, "self/task/\(thread)") }) else { return false }
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name?.hasPrefix("trellis-watch") == false
        }
    }

    /// Moves the calling thread to the namespaces of the process. Glibc's module map leaves out the functions.
    static func enter() {
        typealias Unshare = @convention(c) (CInt) -> CInt
        typealias Enter = @convention(c) (CInt, CInt) -> CInt
        guard let unshareSymbol = unsafe dlsym(nil, "unshare"), let enterSymbol = unsafe dlsym(nil, "setns") else {
            return
        }
        let unshare = unsafe unsafeBitCast(unshareSymbol, to: Unshare.self)
        let enter = unsafe unsafeBitCast(enterSymbol, to: Enter.self)
        for kind in kinds where !isAtHome(kind.name, "thread-self") {
            let descriptor = unsafe open("/proc/self/ns/\(kind.name)", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            let folder = FileManager.default.currentDirectoryPath
            // Threads that share their current folder cannot be in different tables of mounts.
            if kind.name == "mnt", unshare(0x200) != 0 { continue }  // CLONE_FS
            _ = enter(descriptor, kind.flag)
            if kind.name == "mnt" { _ = FileManager.default.changeCurrentDirectoryPath(folder) }
        }
    }

    /// Runs `body` several times on the threads of a queue, on as many threads at once as possible. The queue starts threads if it has too
    /// few, and they begin in the namespaces of the calling thread.
    static func begin(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) -> DispatchGroup {
        let group = DispatchGroup()
        for _ in 0..<width {
            queue.async(group: group) {
                body()
                // Otherwise, few threads would run all of them.
                usleep(1000)
            }
        }
        return group
    }

    /// Moves the threads of a queue to the namespaces of the process.
    private static func bringBack(_ queue: DispatchQueue) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            begin(on: queue) { enter() }.notify(queue: queue) { continuation.resume() }
        }
    }

    /// Moves the threads of the pools to the namespaces of the process, also threads that the engines of a test start while they end.
    static func bringThreadsBack() async {
        for _ in 0..<50 {
            guard hasStrays else { return }
            for queue in queues { await bringBack(queue) }
            await withDiscardingTaskGroup { group in
                for _ in 0..<width { group.addTask { await BlockingThreadPool.run { enter() } } }
            }
        }
    }
}

/// A trait of tests with threads in other namespaces: after each test, the threads of the pools return.
struct ReturningThreadsTrait: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        do { try await function() } catch {
            await OwnNamespaces.bringThreadsBack()
            throw error
        }
        await OwnNamespaces.bringThreadsBack()
    }
}

extension Trait where Self == ReturningThreadsTrait {
    /// Brings the threads of the pools back from the namespaces of a test.
    static var returningThreads: Self { Self() }
}
