import CurlEngine

/// The entry into an ``ExchangeActor`` from code on its engine thread. Every member traps on any other thread.
protocol ExchangeEntry: AnyObject, Sendable {
    func begin(collecting reply: Reply<CollectedResponse>)
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox)
    func cancel(_ error: any Error)
    func admit(isProbing: Bool)
    func connected()
    func received(_ head: ResponseHead)
    func receivedInformational(_ head: ResponseHead)
    func received(_ bytes: RawSpan)
    func ended(_ end: TransportEnd)
    func timerFired()
    func totalIsOver()
    func finishesDownloadMeter()
    var finalMetrics: Metrics { get }
    func deliverNow()
    func joinCall()
    func resume()
    func suspend()
    func sentBody(_ count: Int)
    func measureUpload(with meter: ProgressBroadcaster)
    func measureDownload(with meter: ProgressBroadcaster)
    func bandwidthIsGranted(by gate: BandwidthGate)
    var isPartOfCall: Bool { get }
    var expectation: ExchangeState.Expectation { get }
    var failure: (any Error)? { get }
    var isEnded: Bool { get }
    var usedSharedConnection: Bool? { get }
}

extension ExchangeActor: @preconcurrency ExchangeEntry {
    nonisolated var onEngineThread: any ExchangeEntry { self }

    var isEnded: Bool { state.isEnded }

    var expectation: ExchangeState.Expectation { state.expectation }

    /// A Boolean value: the connection is one that requests share, over HTTP/2 and HTTP/3 if libcurl multiplexes reliably; `nil`:
    /// no head has come.
    var usedSharedConnection: Bool? {
        guard let version = head?.version else { return nil }
        return (version == .http2 || version == .http3) && LibcurlFeatures.current.canMultiplex
    }
}
