import CurlEngine

/// A call whose remaining steps and exchange can be performed by a shared call.
protocol CallOrigin: Sendable {
    /// Returns a call that performs the rest of this call, without a limit in total.
    ///
    /// - Parameter depth: The number of application steps that have run.
    func sharedCall(for request: Request, depth: Int) -> SharedCall
    /// The error with which the call has ended while its steps are at work; `nil` if it has not.
    var endReason: (any Error)? { get }
    /// The sum of the epochs of the credentials of the call: the sum changes whenever the user sets one of these credentials.
    var credentialEpoch: Int { get }
}

/// A call that stands for several others.
struct SharedCall: Sendable {
    let id: UInt64
    /// Starts the call and returns its response. Cancelling the task cancels the call, once no other reader waits.
    let answer: @Sendable () async throws -> StepResponse
}
