/// The part of a ``StreamGate`` that has the places for connections to one of several addresses of a server. The addresses share the limits
/// of their origin, and no connection.
final class AddressPlaces: ConnectionReceiver {
    // The gate and its origins keep each other in memory until the gate is closed.
    private let gate: StreamGate
    /// The name of the pool of connections.
    private let pool: String

    init(_ pool: String, of gate: StreamGate) {
        self.pool = pool
        self.gate = gate
    }

    func grantConnection(to origin: String) { gate.grantConnection(to: origin, in: pool, for: self) }

    func closeIdleConnection(to origin: String, then body: @escaping @Sendable () -> Void) {
        gate.closeIdleConnection(to: pool, then: body)
    }

    func requestConnections(of origin: String) { gate.requestConnections(of: pool) }
}
