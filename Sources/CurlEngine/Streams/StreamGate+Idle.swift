/// The idle connections that can carry streams. They count towards the limit of their origin: if another engine makes a connection at the
/// limit, it closes one of them in exchange.
extension StreamGate {
    /// Records that no stream uses a connection any more, and that the connection is still open.
    func didBecomeIdle(_ name: String, port: Int32) {
        guard let origin = origins[name], !origin.hasStreams(on: port), origin.idlePorts.insert(port).inserted else {
            return
        }
        budget.setIdle(origin.limitName, origin.idleCount, for: places(of: origin))
    }

    /// Records that an idle connection was closed.
    func didClose(_ name: String, port: Int32) {
        guard let origin = origins[name], origin.idlePorts.remove(port) != nil else { return }
        budget.setIdle(origin.limitName, origin.idleCount, for: places(of: origin))
    }

    func closeIdleConnection(to origin: String, then body: @escaping @Sendable () -> Void) {
        let executor = executor
        executor.submit {
            executor.engineLoop.closeIdleConnections(to: origin)
            body()
        }
    }

    func grantConnection(to origin: String, afterClosingBy holder: any ConnectionReceiver) {
        grantConnection(to: origin, for: self, afterClosingBy: holder)
    }

    /// Gives a receiver of the gate a place for a connection as soon as a holder has closed an idle one.
    func grantConnection(
        to origin: String, for receiver: any ConnectionReceiver, afterClosingBy holder: any ConnectionReceiver
    ) {
        let delivery = LateDelivery { receiver.grantConnection(to: origin) }
        holder.closeIdleConnection(to: origin) { delivery.deliver() }
        if holder.isStuck { delivery.deliver() } else { delivery.waitBriefly(on: executor) }
    }
}
