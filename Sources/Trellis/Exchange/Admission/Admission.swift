/// The queue in which requests get their connection slots: the session's. Called on the engine thread.
protocol Admission: AnyObject, Sendable {
    /// Asks for a slot for the request, which is given through ``ExchangeActor/admit(isProbing:)``, now or later.
    func enter(_ request: ExchangeActor)
    /// Reports whether the first connection to an origin can be shared, for the requests that wait for it.
    func probed(_ request: ExchangeActor, isShared: Bool)
    /// Gives up the request's wait for a slot.
    func leave(_ request: ExchangeActor)
    /// Notes that the request is answered with a redirect before there is a call that follows it.
    func willFollow(_ request: ExchangeActor)
    /// Gives the request's slot back.
    func release(_ request: ExchangeActor)
    /// Removes a request that has ended, with or without a slot.
    func didEnd(_ request: ExchangeActor)
    /// Returns the reason why the request waits, for errors.
    func reasonForWaiting(_ request: ExchangeActor) -> String
}
