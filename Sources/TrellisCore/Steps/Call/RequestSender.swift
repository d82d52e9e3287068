import CurlEngine

/// The sender of requests that belong to a call in flight: the call's session.
protocol RequestSender: AnyObject, Sendable {
    /// Returns the response to a step's own request, with its complete body. The request is a call without the steps that could
    /// wait for the call that sends it, and is sent even while the session drains.
    func answer(inFlight request: Request) async throws -> Answer
    /// The engine thread of the session for a new timer: the calling task's, or one that is not stuck.
    var freeEngine: EngineExecutor { get }
}
