import Synchronization

/// A delivery that happens once, after something else has. The place for a connection waits until another engine has closed a connection.
/// That engine may become stuck, and so the place waits only for a moment: one connection too many is better than a request that waits for
/// an unknown time.
package final class LateDelivery: EngineTimerTarget, DeferredDelivery, Sendable {
    private static let patience = Duration.milliseconds(100)

    private let body: @Sendable () -> Void
    private let delivered = Atomic(false)

    /// Creates a delivery that calls `body`, once.
    package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    private var isDelivered: Bool { delivered.load(ordering: .relaxed) }

    /// Calls the body, if that has not happened yet.
    package func deliver() { if !delivered.exchange(true, ordering: .relaxed) { body() } }

    /// Lets the delivery wait no longer than a moment, with a timer of an engine.
    package func waitBriefly(on executor: EngineExecutor) {
        guard !isDelivered else { return }
        executor.submit { [self] in
            guard !isDelivered else { return }
            executor.engineLoop.set(EngineTimer(self), at: executor.now.advanced(by: Self.patience))
        }
    }

    package func timerIsDue() { deliver() }
}
