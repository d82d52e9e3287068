import CurlEngine

extension ConnectionAdmission {
    /// A slot for an exchange that waits.
    struct Grant {
        let exchange: ExchangeActor
        /// The engine of the slot.
        let engine: ExchangeEngine
        var isProbing = false
        /// The engine that closes an idle connection before the exchange may open its own, and the origin of that connection.
        var closing: (engine: ExchangeEngine, origin: String)?

        /// Notifies the exchange, in an engine job of its own, because the caller that released the slot has not finished its own work.
        func deliver() {
            let (exchange, engine, isProbing) = (exchange, engine, isProbing)
            guard let closing else {
                return exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing) }
            }
            let delivery = LateDelivery {
                exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing) }
            }
            closing.engine.closeIdleConnections(to: closing.origin) { delivery.deliver() }
            delivery.waitBriefly(on: exchange.entrance)
        }
    }
}
