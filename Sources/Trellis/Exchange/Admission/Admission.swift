/// The queue in which requests get their connection slots: the session's. Called on the engine thread.
protocol Admission: AnyObject, Sendable {
    /// Asks for a slot for the request. A request that waits gets its slot through ``ExchangeActor/admit(isProbing:)``.
    ///
    /// - Parameter isPartOfCall: A Boolean value: a call or a download in flight sends the request.
    func enter(_ request: ExchangeActor, isPartOfCall: Bool) -> AdmissionResult
    /// Reports whether the first connection to an origin can be shared, for the requests that wait for it.
    func probed(_ request: ExchangeActor, isShared: Bool)
    /// Gives up the request's wait for a slot.
    func leave(_ request: ExchangeActor)
    /// Notes that the request is answered with a redirect before there is a call that follows it.
    func willFollow(_ request: ExchangeActor)
    /// Gives the request's slot back.
    ///
    /// - Parameter isShared: A Boolean value: the connection is one that requests share; `nil`: not known.
    func release(_ request: ExchangeActor, isShared: Bool?)
    /// Removes a request that has ended, with or without a slot.
    ///
    /// - Parameter isFollowed: Indicates whether a call follows a redirect with which the request was answered.
    func didEnd(_ request: ExchangeActor, isFollowed: Bool)
    /// Returns the reason why the request waits, for errors.
    func reasonForWaiting(_ request: ExchangeActor) -> String
}

/// The result of asking for a connection slot.
enum AdmissionResult {
    /// The request has a slot.
    ///
    /// - Parameter isProbing: A Boolean value: other requests wait until this one's connection shows whether it can be shared.
    case admitted(isProbing: Bool)
    /// The request waits for a slot.
    case waiting
    /// The session is shut down.
    case refused
}
