import CurlEngine
import Synchronization

extension ConnectionAdmission {
    /// A slot for an exchange that waits.
    ///
    /// A slot on its way to another engine is an offer: until the exchange takes the slot there, the slot can be given to another exchange,
    /// because the engine may be stuck.
    struct Grant {
        let exchange: ExchangeActor
        /// The engine of the slot.
        let engine: ExchangeEngine
        var isProbing = false
        /// The index of the exchange's origin in the queue; `nil` if the session has one engine.
        var originIndex: OriginIndex?
        /// Indicates whether the engine is to open a connection for the slot.
        var opens = false
        /// The number of the offer; `nil` if the slot cannot be withdrawn.
        var offer: Int?
        /// The engine that closes an idle connection before the exchange may open its own, and the origin of that connection.
        var closing: (engine: ExchangeEngine, origin: String)?

        /// Indicates whether an engine on the way of the exchange to its slot takes no work.
        var isStuck: Bool {
            exchange.entrance.isStuck || exchange.executor.isStuck || engine.executor.isStuck
        }

        /// Notifies the exchange, in an engine job of its own, because the caller that released the slot has not finished its own work.
        func deliver() {
            let (exchange, engine, isProbing, offer) = (exchange, engine, isProbing, offer)
            guard let closing else {
                return exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing, offer: offer) }
            }
            let delivery = LateDelivery {
                exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing, offer: offer) }
            }
            closing.engine.closeIdleConnections(to: closing.origin) { delivery.deliver() }
            guard !delivery.isDelivered else { return }
            let executor = exchange.entrance
            executor.submit {
                guard !delivery.isDelivered else { return }
                executor.engineLoop.set(EngineTimer(delivery), at: executor.now.advanced(by: LateDelivery.patience))
            }
        }
    }

    /// The delivery of a grant that waits until another engine has closed a connection. The engine may become stuck, and so the delivery
    /// waits only for a moment: one connection too many is better than a request that waits for an unknown time.
    private final class LateDelivery: EngineTimerTarget, Sendable {
        static let patience = Duration.milliseconds(100)

        private let body: @Sendable () -> Void
        private let delivered = Atomic(false)

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        var isDelivered: Bool { delivered.load(ordering: .relaxed) }

        /// Delivers the grant, once.
        func deliver() { if !delivered.exchange(true, ordering: .relaxed) { body() } }

        func timerIsDue() { deliver() }
    }
}
