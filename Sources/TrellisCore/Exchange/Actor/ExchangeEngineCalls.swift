import CurlEngine

/// The entry into an ``ExchangeActor`` from code on its engine thread. Every member traps on any other thread.
protocol ExchangeEngineCalls: AnyObject, Sendable {
    func begin(collecting reply: Reply<CollectedResponse>)
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox)
    func end(_ error: any Error, isOverdue: Bool) -> ExchangeEnd
    var failure: (any Error)? { get }
    func isConnected(in attempt: ExchangeState.Attempt)
    func evaluate(_ chain: CertificateChain?, in attempt: ExchangeState.Attempt)
    func reach(_ step: TransferStep, in attempt: ExchangeState.Attempt)
    func switchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection)
    func receiveInformational(_ head: ResponseHead, in attempt: ExchangeState.Attempt)
    func receive(_ head: ResponseHead, in attempt: ExchangeState.Attempt)
    func receive(_ bytes: RawSpan, in attempt: ExchangeState.Attempt)
    func needsBody(for attempt: ExchangeState.Attempt)
    func didSendBody(_ count: Int, in attempt: ExchangeState.Attempt)
    func didEnd(_ end: TransportEnd, in attempt: ExchangeState.Attempt)
    func endContinueWait()
    func timerFired()
    func bandwidthIsGranted(by gate: BandwidthGate)
    func deliverNow()
}
