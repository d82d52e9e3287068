/// The session's queue in which requests get their connection slots. Called on the engine thread.
protocol Admission: AnyObject, Sendable {
    /// Requests a slot. A request that has to wait gets its slot later, through ``ExchangeActor/admit(isProbing:)``.
    ///
    /// - Parameter isPartOfCall: Indicates whether the request belongs to a call or a download in flight.
    func enter(_ request: ExchangeActor, isPartOfCall: Bool) -> AdmissionResult
    /// Reports whether the first connection to an origin can be shared, so that the requests that wait for this result continue.
    func probed(_ request: ExchangeActor, isShared: Bool)
    /// Removes a waiting request from the queue.
    func leave(_ request: ExchangeActor)
    /// Records that the response to the request is a redirect, before the call that follows the redirect exists.
    func willFollow(_ request: ExchangeActor)
    /// Releases the request's slot.
    ///
    /// - Parameter isShared: Indicates whether several requests can share the connection; `nil` if not known.
    func release(_ request: ExchangeActor, isShared: Bool?)
    /// Removes a request that has ended, with or without a slot.
    ///
    /// - Parameter isFollowed: Indicates whether a call follows a redirect with which the request was answered.
    func didEnd(_ request: ExchangeActor, isFollowed: Bool)
    /// Returns the reason why the request waits, for errors.
    func reasonForWaiting(_ request: ExchangeActor) -> String
}

/// The result of a request for a connection slot.
enum AdmissionResult {
    /// The request has a slot.
    ///
    /// - Parameter isProbing: Indicates whether other requests wait until the connection of this one shows whether it can be shared.
    case admitted(isProbing: Bool)
    /// The request waits for a slot.
    case waiting
    /// The session is shut down.
    case refused
}
