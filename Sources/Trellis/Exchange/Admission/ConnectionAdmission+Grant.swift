import CurlEngine

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
            delivery.waitBriefly(on: exchange.entrance)
        }
    }
}
