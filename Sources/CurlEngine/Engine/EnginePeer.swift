import Synchronization

/// The entry of an engine among all engines of the process. An engine that gets no file descriptor asks the others to close
/// idle connections.
///
/// The engine itself is not referred to weakly, because that would slow down every other reference to it.
final class EnginePeer: Sendable {
    private struct Weak: Sendable {
        weak var peer: EnginePeer?
    }

    private static let all = Locked<[ObjectIdentifier: Weak]>([:])

    private let executor: EngineExecutor

    init(_ executor: EngineExecutor) {
        self.executor = executor
        Self.all.withLock { $0[ObjectIdentifier(self)] = Weak(peer: self) }
    }

    deinit { Self.all.withLock { $0[ObjectIdentifier(self)] = nil } }

    /// Lets all other engines of the process close idle connections, and then calls `body`, once.
    static func giveUpIdleConnections(for executor: EngineExecutor, then body: @escaping @Sendable () -> Void) {
        // Released without the lock: the last reference removes itself from the list.
        let peers = all.withLock { $0.values.compactMap(\.peer) }.filter {
            $0.executor !== executor && $0.executor.hasStarted && !$0.executor.isRefused
        }
        guard !peers.isEmpty else { return body() }
        let rest = Countdown(peers.count, body)
        for peer in peers {
            let other = peer.executor
            other.submit {
                other.engineLoop.giveUpIdleConnections()
                rest.count()
            }
        }
    }

    /// The number of engines that have not answered.
    private final class Countdown: Sendable {
        private let left: Atomic<Int>
        private let body: @Sendable () -> Void

        init(_ count: Int, _ body: @escaping @Sendable () -> Void) {
            left = Atomic(count)
            self.body = body
        }

        func count() { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { body() } }
    }
}
