/// An application step, around a call, or a network step, around each of its hops. It gets the request before and the response after, may
/// change both, send the request several times, or return a response without sending it.
///
/// ```swift
/// struct Timing: RequestStep {
///     func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
///         let start = ContinuousClock.now
///         defer { log(request, ContinuousClock.now - start) }
///         return try await next(request)
///     }
/// }
/// ```
///
/// In ``Steps/application`` a step runs once for a call, outside of everything: it gets the caller's request and the final
/// response. In ``Steps/network`` it runs for each hop, retries and redirects included, inside of everything except cookies
/// and limits. A step runs as a ``RequestAdapter`` does: it begins on the caller's thread and continues on the pool after a
/// suspension, or runs on the pool, and never on the session's thread. A step is cancelled with its call:
/// ``CallContext/endReason`` says why.
public protocol RequestStep: Sendable {
    /// Returns the response to a request: the response of `next`, or another one.
    ///
    /// - Parameters:
    ///   - request: The request, with the changes of the steps outside of this one.
    ///   - context: The call.
    ///   - next: The steps inside of this one, and the rest of the call. A step may call it once, several times or not at all.
    /// - Throws: The errors of `next`; an error of the step itself reaches the caller unchanged, unless a retrier asks for
    ///   another attempt.
    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse
}

/// A step that returns the responses of `next` unread and unchanged.
package protocol ResponseForwardingStep: RequestStep {}

extension Steps {
    /// Whether an application or network step may replace a response.
    var mayReplaceResponses: Bool { (application + network).contains { !($0 is any ResponseForwardingStep) } }
}

/// The rest of a call after a step.
public struct NextStep: Sendable {
    /// The number of application steps that have run; `nil` if the step runs around a hop.
    let depth: Int?
    /// The call, with all of its steps; `nil` if the steps are called without a session.
    let origin: (call: Call, steps: AttachedSteps)?
    /// Returns the response to a request from the framework's cache, in the place of the cache; `nil` in every other place.
    package let responseOfCache: (@Sendable (Request, any StagedCache) async throws -> StepResponse)?
    private let send: @Sendable (Request) async throws -> StepResponse

    init(
        depth: Int? = nil, origin: (call: Call, steps: AttachedSteps)? = nil,
        responseOfCache: (@Sendable (Request, any StagedCache) async throws -> StepResponse)? = nil,
        _ send: @escaping @Sendable (Request) async throws -> StepResponse
    ) {
        self.depth = depth
        self.origin = origin
        self.responseOfCache = responseOfCache
        self.send = send
    }

    /// Runs the rest of the call with a request.
    ///
    /// - Parameter request: The request, which the step may have changed.
    /// - Returns: The response, with any status.
    /// - Throws: ``TrellisError``: at the deadline of the call, of kind ``TrellisError/Kind/totalTimeout``; after a shutdown of the
    ///   session, of kind ``TrellisError/Kind/cancelled``. `CancellationError` if the caller's task was cancelled.
    public func callAsFunction(_ request: Request) async throws -> StepResponse {
        do { return try await send(request) } catch let error as CancellationError {
            throw origin?.call.endReason ?? error
        }
    }
}
