/// Stands around a call, or around each of its attempts: sees the request before and the response behind, may change both, send
/// the request several times, or answer without sending it.
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
/// In ``Steps/aroundCall`` a step runs once for a call, outside of everything: it sees the caller's request and the final answer. In
/// ``Steps/aroundHop`` it runs for each request on the wire, retries and redirects included, inside of everything but cookies and
/// limits. It runs on the pool, never on the session's thread, and is cancelled with its call.
public protocol RequestStep: Sendable {
    /// Answers a request, with what `next` answers or otherwise.
    ///
    /// - Throws: What `next` throws; what the step throws itself reaches the caller unchanged, unless a retrier goes on.
    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse
}

/// A step that hands on the answers that come, unread and unchanged.
protocol AnswerForwardingStep: RequestStep {}

extension Steps {
    /// A step of the user's may make another answer of one that came.
    var mayChangeAnswers: Bool { (aroundCall + aroundHop).contains { !($0 is any AnswerForwardingStep) } }
}

/// The rest of a call behind a step.
public struct NextStep: Sendable {
    /// The number of steps around the call that have run by then; `nil` behind a step around a hop.
    let depth: Int?
    /// Makes calls of what is left; `nil` for steps that are called without a session.
    let origin: (any CallOrigin)?
    private let send: @Sendable (Request) async throws -> StepResponse

    init(
        depth: Int? = nil, origin: (any CallOrigin)? = nil,
        _ send: @escaping @Sendable (Request) async throws -> StepResponse
    ) {
        self.depth = depth
        self.origin = origin
        self.send = send
    }

    /// Sends the request on.
    public func callAsFunction(_ request: Request) async throws -> StepResponse { try await send(request) }
}
