import CurlEngine

/// The receiver of the transport's events for the attempt that is sent without the expectation, after the first attempt was dropped. The
/// first attempt may still report events, which the exchange ignores.
final class LaterAttempt: SecureTransportEvents, ObservedTransportEvents {
    private let request: ExchangeActor

    init(_ request: ExchangeActor) { self.request = request }

    var observesSteps: Bool { request.observesSteps }

    func transportDidReceiveCertificates(_ chain: CertificateChain?) {
        request.onEngineThread.evaluate(chain, in: .later)
    }

    func transportDidReach(_ step: TransferStep) { request.onEngineThread.reach(step, in: .later) }

    func transportIsConnected() { request.connected(in: .later) }

    func transportDidReceiveInformational(_ head: ResponseHead) { request.receivedInformational(head, in: .later) }

    func transportDidReceiveHead(_ head: ResponseHead) { request.received(head, in: .later) }

    func transportDidReceiveBody(_ bytes: RawSpan) { request.received(bytes, in: .later) }

    func transportNeedsBody() { request.needsBody(in: .later) }

    func transportDidSendBody(_ count: Int) { request.sentBody(count, in: .later) }

    func transportDidEnd(_ end: TransportEnd) { request.ended(end, in: .later) }
}
