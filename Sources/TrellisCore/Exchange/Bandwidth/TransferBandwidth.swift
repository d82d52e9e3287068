import CurlEngine

/// The bandwidth limits of one request in both directions.
struct TransferBandwidth {
    /// The gates in one direction, and the gates that pause the transfer at present.
    struct Direction {
        let gates: [BandwidthGate]
        private var closed: [ObjectIdentifier] = []

        init(_ gates: [BandwidthGate]) { self.gates = gates }

        var isHeld: Bool { !closed.isEmpty }

        mutating func close(_ gate: BandwidthGate) { closed.append(ObjectIdentifier(gate)) }

        mutating func open(_ gate: BandwidthGate) { closed.removeAll { $0 == ObjectIdentifier(gate) } }

        /// Joins all gates, and closes the gates that do not grant bytes yet.
        mutating func join(_ request: ExchangeActor, at now: EngineInstant) {
            for gate in gates where !gate.join(request, at: now) { close(gate) }
        }

        /// Counts moved bytes at all gates, and closes the gates that grant no more bytes.
        mutating func spend(_ bytes: Int, _ request: ExchangeActor, at now: EngineInstant) {
            for gate in gates where !gate.spend(bytes, by: request, at: now) {
                open(gate)
                close(gate)
            }
        }
    }

    var sending: Direction
    var receiving: Direction
    /// Whether the request has joined its gates.
    var hasJoined = false
    /// Whether the transport was instructed to pause sending.
    var isSendingPaused = false
    /// The number of bytes of the response's body that were counted.
    var received: Int64 = 0

    /// Creates the limits from gates; `nil` if there is no gate.
    init?(sending: [BandwidthGate], receiving: [BandwidthGate]) {
        guard !sending.isEmpty || !receiving.isEmpty else { return nil }
        self.sending = Direction(sending)
        self.receiving = Direction(receiving)
    }

    var isHeld: Bool { sending.isHeld || receiving.isHeld }
}
