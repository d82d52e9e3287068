/// Who gives requests their slots: the session. Called on the engine thread.
protocol Admission: AnyObject, Sendable {
    /// The request wants a slot. It is given one through ``RequestActor/admit(isExploring:)``, now or later.
    func enter(_ request: RequestActor)
    /// A request that went ahead of others is connected.
    func explored(_ request: RequestActor, isShared: Bool)
    /// The request no longer wants one.
    func leave(_ request: RequestActor)
    /// The request is answered with a redirect before there is a call that follows it.
    func willFollow(_ request: RequestActor)
    /// The request gives its slot back.
    func release(_ request: RequestActor)
    /// The request has ended, with or without a slot.
    func didEnd(_ request: RequestActor)
    /// What keeps the request waiting, for errors.
    func reasonForWaiting(_ request: RequestActor) -> String
}
