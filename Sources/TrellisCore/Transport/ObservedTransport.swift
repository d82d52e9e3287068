package import CurlEngine

/// An attempt that can describe its connection, and report the steps on its way to the server.
package protocol ObservedTransportTask: TransportTask {
    /// The version of HTTP for which the connection was made; `nil` if it is not known.
    var connectionVersion: HTTPVersion? { get }
    /// The local port of the connection; `nil` if it has none, or it is not known.
    var connectionPort: Int? { get }
    /// Whether the complete request was sent, as far as the transport knows.
    var hasSentRequest: Bool { get }
    /// Makes the attempt report ``TransferStep/headSent`` and ``TransferStep/sent`` for the connection that is ready.
    func reportSending()
}

/// The cast of attempts.
enum ObservedTransport {
    /// Returns an attempt as one that can describe its connection; `nil` if it cannot. That of libcurl is not cast to the protocol, which
    /// takes some 300 instructions.
    static func task(of task: (any TransportTask)?) -> (any ObservedTransportTask)? {
        if let transfer = task as? Transfer { return transfer }
        return task as? any ObservedTransportTask
    }
}

/// The receiver of the steps of an attempt.
package protocol ObservedTransportEvents: TransportEvents {
    /// Whether the steps are observed.
    var observesSteps: Bool { get }
    /// Notifies the exchange of a step, on the engine thread.
    func transportDidReach(_ step: TransferStep)
}

extension Transfer: ObservedTransportTask {
    /// The version of HTTP for which the connection was made; `nil` if there is no connection.
    package var connectionVersion: HTTPVersion? { negotiatedVersion.map { HTTPVersion($0) } }
}
