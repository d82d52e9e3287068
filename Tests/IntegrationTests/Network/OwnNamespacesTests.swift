import CurlEngine
import Dispatch
import Testing

/// The threads of a pool return from other namespaces. A thread that stayed there would reach no server in a later test.
@Suite(.timeLimit(.minutes(3)), .enabled(if: NetworkNamespace.isExpected, "needs root, for a network namespace"))
struct OwnNamespacesTests {
    /// Returns the number of times that a thread of a queue was in other namespaces.
    private static func strayCount(_ queue: DispatchQueue) -> Int {
        let count = Locked(0)
        let group = OwnNamespaces.begin(on: queue) {
            if !OwnNamespaces.areCurrent { count.withLock { $0 += 1 } }
        }
        group.wait()
        return count.withLock { $0 }
    }

    @Test(arguments: [false, true]) func threadsOfThePoolReturn(_ haveOwnFiles: Bool) async throws {
        // No task has this class.
        let queue = DispatchQueue.global(qos: .background)
        // Counted at once: threads that have nothing to do end after some seconds.
        let strays = Locked(0)
        await BlockingThreadPool.run {
            OwnNamespaces.begin(on: queue) {
                _ = try? NetworkNamespace.leaveNetwork(andFiles: haveOwnFiles)
                if !OwnNamespaces.areCurrent { strays.withLock { $0 += 1 } }
            }.wait()
        }
        #expect(strays.withLock { $0 } > 0)
        await OwnNamespaces.bringThreadsBack()
        let left = await BlockingThreadPool.run { Self.strayCount(queue) }
        #expect(left == 0)
    }
}
