/// Who gives requests their slots: the session. Called on the engine thread.
protocol Admission: AnyObject, Sendable {
    /// The request wants a slot. It is given one through ``ExchangeActor/admit(isExploring:)``, now or later.
    func enter(_ request: ExchangeActor)
    /// A request that went ahead of others is connected.
    func explored(_ request: ExchangeActor, isShared: Bool)
    /// The request no longer wants one.
    func leave(_ request: ExchangeActor)
    /// The request is answered with a redirect before there is a call that follows it.
    func willFollow(_ request: ExchangeActor)
    /// The request gives its slot back.
    func release(_ request: ExchangeActor)
    /// The request has ended, with or without a slot.
    func didEnd(_ request: ExchangeActor)
    /// What keeps the request waiting, for errors.
    func reasonForWaiting(_ request: ExchangeActor) -> String
}
