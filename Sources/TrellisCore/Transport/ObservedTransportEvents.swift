package import CurlEngine

/// The receiver of the steps of an attempt.
package protocol ObservedTransportEvents: TransportEvents {
    /// Whether the steps are observed.
    var observesSteps: Bool { get }
    /// Notifies the exchange of a step, on the engine thread.
    func transportDidReach(_ step: TransferStep)
}
