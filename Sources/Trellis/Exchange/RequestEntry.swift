import CurlEngine

/// How a request is entered from code that runs on its engine thread anyway. Every call traps on any other thread.
protocol RequestEntry: AnyObject, Sendable {
    func begin(collecting reply: Reply<CollectedResponse>)
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox)
    func cancel(_ error: any Error)
    func admit(isExploring: Bool)
    func connected()
    func received(_ head: ResponseHead)
    func received(_ bytes: RawSpan)
    func ended(_ end: TransportEnd)
    func timerFired()
    func deliverNow()
    var usedSharedConnection: Bool? { get }
}

extension RequestActor: @preconcurrency RequestEntry {
    nonisolated var onEngineThread: any RequestEntry { self }
}
