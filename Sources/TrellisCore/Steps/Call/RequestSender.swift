import CurlEngine

/// The sender of requests that belong to a call in flight: the call's session.
protocol RequestSender: AnyObject, Sendable {
    /// Returns the response to a step's own request, with its complete body. The request is a call without the steps that could
    /// wait for the call that sends it, and is sent even while the session drains.
    func answer(inFlight request: Request) async throws -> Answer
    /// Returns a call that replaces several other calls, and runs the rest of their steps, without a limit in total.
    ///
    /// - Parameter depth: The number of application steps that have already run.
    func sharedCall(for request: Request, _ steps: AttachedSteps, depth: Int) -> SharedCall
    /// The engine thread of the session for a new timer: the calling task's, or one with little to do.
    var freeEngine: EngineExecutor { get }
}

/// A call that stands for several others.
struct SharedCall: Sendable {
    let id: UInt64
    /// Starts the call and returns its response. Cancelling the task cancels the call, once no other reader waits.
    let answer: @Sendable () async throws -> StepResponse
}
