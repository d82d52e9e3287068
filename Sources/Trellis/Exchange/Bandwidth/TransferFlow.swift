import CurlEngine

/// What limits the speed of a request, where anything does.
struct TransferFlow {
    /// The limits in one direction, and which of them hold the transfer up at this moment.
    struct Direction {
        let gates: [BandwidthGate]
        private var closed: [ObjectIdentifier] = []

        init(_ gates: [BandwidthGate]) { self.gates = gates }

        var isHeld: Bool { !closed.isEmpty }

        mutating func close(_ gate: BandwidthGate) { closed.append(ObjectIdentifier(gate)) }

        mutating func open(_ gate: BandwidthGate) { closed.removeAll { $0 == ObjectIdentifier(gate) } }

        /// Asks all for leave to go.
        mutating func join(_ request: ExchangeActor) {
            for gate in gates where !gate.onEngineThread.join(request) { close(gate) }
        }

        mutating func spend(_ bytes: Int, _ request: ExchangeActor) {
            for gate in gates where !gate.onEngineThread.spend(bytes, by: request) {
                open(gate)
                close(gate)
            }
        }
    }

    var sending: Direction
    var receiving: Direction
    var hasJoined = false
    /// The transport was told that nothing may be sent.
    var isSendingPaused = false
    /// Bytes of the answer's body that were counted.
    var received: Int64 = 0

    /// `nil` where there is no limit.
    init?(sending: [BandwidthGate], receiving: [BandwidthGate]) {
        guard !sending.isEmpty || !receiving.isEmpty else { return nil }
        self.sending = Direction(sending)
        self.receiving = Direction(receiving)
    }

    var isHeld: Bool { sending.isHeld || receiving.isHeld }
}
