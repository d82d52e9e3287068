package import CurlEngine
import FoundationEssentials

/// The transport of a session's engine.
package struct LibcurlTransport: Transport {
    private let engine: CurlEngine

    /// Creates the transport of an engine.
    package init(executor: EngineExecutor, configuration: EngineConfiguration) {
        engine = CurlEngine(executor: executor, configuration: configuration)
    }

    /// Starts a transfer.
    package func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let transfer = engine.makeTransfer(request.wire)
        engine.start(transfer, delegate: LibcurlEvents(events))
        return transfer
    }

    /// Closes one idle connection to an origin, or all idle connections if `origin` is `nil`.
    package func closeIdleConnections(to origin: String?) { engine.closeIdleConnections(to: origin) }

    /// Closes the idle connections to an origin by some routes, and the others after their request.
    package func retireConnections(to origin: String, by routes: Set<Int>) {
        engine.retireConnections(to: origin, by: routes)
    }

    /// Sets the closure that gets the numbers of connections by origin that have changed; `nil` when all of them are closed.
    package func onCount(
        _ body: @escaping @Sendable ([String: TransportCount]?) -> Void,
        mayAdd: @escaping @Sendable (String, Int) -> Bool
    ) {
        let passOn: @Sendable ([String: ConnectionCount]?) -> Void = { counts in
            body(counts?.mapValues { TransportCount($0.connections, streams: $0.streams, shared: $0.shared) })
        }
        engine.onCount(passOn, mayAdd: mayAdd)
    }
}

/// A transfer is a transport task.
extension Transfer: FileTransportTask {
    /// Ends the body, and sends fields after it.
    package func finishSending(trailers: HTTPFields) {
        finishSending(trailers: trailers.map { ($0.name.rawName, $0.octetsBeyondUTF8 ?? Array($0.value.utf8)) })
    }
    /// `true`: the engine reports the bytes of the body that it takes.
    package var countsSentBody: Bool { true }
    /// The number of bytes of the response's body that were received so far, before decoding.
    package var receivedBodyBytes: Int64? { receivedCount }
    /// The measurements so far.
    package var report: TransportReport { TransportReport(measurements) }
    /// The instants at which bytes last moved.
    package var activity: TransportActivity? {
        let times = times
        var activity = TransportActivity(last: times.last, lastSend: times.lastSend)
        activity.connectStart = connectStart
        return activity
    }
    /// The version, the port and the neighbours of the connection, if there is one.
    package var connectionDetails: TransportConnection {
        var details = TransportConnection()
        details.version = negotiatedVersion.map { HTTPVersion($0) }
        details.port = connectionPort
        details.stream = streamNumber
        details.added = addedConnection
        return details
    }
    /// `true`: the engine says when the request was sent.
    package var reportsSending: Bool { true }
}

/// The connection of a transfer. Its errors are the engine's.
extension SwitchedConnection: DuplexConnection {
    /// The executor of the engine's thread.
    package var executor: (any TaskExecutor)? { engineExecutor }
}

/// The receiver of the events of a transfer, which passes them on as events of a transport.
final class LibcurlEvents: TransferDelegate {
    private let events: any TransportEvents

    init(_ events: any TransportEvents) { self.events = events }

    func transferDidReceiveCertificates(_ chain: CertificateChain?) {
        (events as? any ConnectionTransportEvents)?.transportDidReceiveCertificates(chain)
    }

    var observesSteps: Bool { (events as? any ConnectionTransportEvents)?.observesSteps ?? false }

    func transferDidReach(_ step: TransferStep) { (events as? any ConnectionTransportEvents)?.transportDidReach(step) }

    func transferIsConnected() { events.transportIsConnected() }

    func transferDidReceiveInformational(_ head: WireHead) {
        events.transportDidReceiveInformational(ResponseHead(head))
    }

    func transferDidReceiveHead(_ head: consuming WireHead) { events.transportDidReceiveHead(ResponseHead(head)) }

    func transferDidReceiveBody(_ bytes: RawSpan) { events.transportDidReceiveBody(bytes) }

    func transferDidReceiveBody(chunk: Data) { events.transportDidReceiveBody(chunk: chunk) }

    func transferDidSwitchProtocols(_ head: WireHead, _ connection: SwitchedConnection) {
        guard let events = events as? any ConnectionTransportEvents else { return connection.close() }
        events.transportDidSwitchProtocols(ResponseHead(head), connection)
    }

    func transferNeedsBody() { events.transportNeedsBody() }

    func transferDidSendBody(_ count: Int) { events.transportDidSendBody(count) }

    func transferDidEnd(_ end: consuming TransferEnd) {
        events.transportDidEnd(
            TransportEnd(
                failure: end.failure.map(TransportFailure.init),
                trailers: end.trailers.count == 0 ? HTTPFields() : HTTPFields(end.trailers),
                report: TransportReport(end.report)))
    }
}
