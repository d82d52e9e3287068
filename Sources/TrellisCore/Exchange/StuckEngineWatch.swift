import CurlEngine

/// The look at the engine of an exchange that has moved and must end with its call, until the exchange has ended there.
///
/// The watch lives on the first engine of the exchange.
final class StuckEngineWatch: EngineTimerTarget {
    /// The time between two looks: an engine counts as stuck after the same time.
    private static let interval = Duration.milliseconds(100)

    private let exchange: ExchangeActor
    /// Called when the engine is found to be stuck.
    private let whenStuck: () -> Void

    init(_ exchange: ExchangeActor, whenStuck: @escaping () -> Void) {
        self.exchange = exchange
        self.whenStuck = whenStuck
    }

    /// Looks at the engine now and, if necessary, later.
    func timerIsDue() {
        guard !exchange.isEnded || exchange.first.list.isAwaited(exchange) else { return }
        if exchange.executor.isStuck { return whenStuck() }
        let executor = exchange.first.executor
        executor.engineLoop.set(EngineTimer(self), at: executor.now.advanced(by: Self.interval))
    }
}
