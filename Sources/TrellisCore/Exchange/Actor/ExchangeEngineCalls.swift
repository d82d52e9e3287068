import CurlEngine

/// The entry into an ``ExchangeActor`` from code on its engine thread. Every member traps on any other thread.
protocol ExchangeEngineCalls: AnyObject, Sendable {
    func begin(collecting reply: Reply<CollectedResponse>)
    func endContinueWait(_ condition: ExchangeState.Condition)
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox)
    func cancel(_ error: any Error)
    func evaluate(_ chain: CertificateChain?, in attempt: ExchangeState.Attempt)
    func isConnected(in attempt: ExchangeState.Attempt)
    func reach(_ step: TransferStep, in attempt: ExchangeState.Attempt)
    func receive(_ head: ResponseHead, in attempt: ExchangeState.Attempt)
    func switchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection)
    func receiveInformational(_ head: ResponseHead, in attempt: ExchangeState.Attempt)
    func receive(_ bytes: RawSpan, in attempt: ExchangeState.Attempt)
    func needsBody(for attempt: ExchangeState.Attempt)
    func didSendBody(_ count: Int, in attempt: ExchangeState.Attempt)
    func didEnd(_ end: TransportEnd, in attempt: ExchangeState.Attempt)
    func timerFired()
    func end(_ error: any Error, isOverdue: Bool) -> ExchangeEnd
    func endDownloadMeterAtEnd()
    var finalMetrics: Metrics { get }
    func deliverNow()
    func joinCall()
    func resume()
    func suspend()
    func measureUpload(with meter: ProgressBroadcaster)
    func measureDownload(with meter: ProgressBroadcaster)
    func bandwidthIsGranted(by gate: BandwidthGate)
    var failure: (any Error)? { get }
}

extension ExchangeActor: @preconcurrency ExchangeEngineCalls {
    nonisolated var onEngineThread: any ExchangeEngineCalls { self }

    /// Whether several requests can share the connection, as over HTTP/2 and HTTP/3 if libcurl multiplexes reliably; `nil` if no
    /// head has arrived.
    var usedSharedConnection: Bool? {
        guard let version = head?.version else { return nil }
        return (version == .http2 || version == .http3) && LibcurlFeatures.current.canMultiplex
    }
}
