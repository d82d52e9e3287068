/// A gate, or its part for one address of a server, that waits for places in a ``ConnectionBudget``.
protocol ConnectionReceiver: AnyObject, Sendable {
    /// Notifies the gate that it has a place for a connection, which must be ended. Called from any thread.
    func grantConnection(to origin: String)
    /// Closes an idle connection to an origin, if there is one, and then calls `body`. Called from any thread.
    func closeIdleConnection(to origin: String, then body: @escaping @Sendable () -> Void)
    /// Notifies the gate that the number of places that it should return has changed. Called from any thread.
    func requestConnections(of origin: String)
}

extension ConnectionReceiver {
    /// Notifies the gate that it has a place as soon as a holder has closed an idle connection.
    func grantConnection(to origin: String, afterClosingBy holder: any ConnectionReceiver) {
        holder.closeIdleConnection(to: origin) { self.grantConnection(to: origin) }
    }
}
