/// Changes requests before each attempt: adds credentials, signs, routes.
///
/// ```swift
/// struct APIKey: RequestAdapter {
///     func adapt(_ request: Request, context: CallContext) async throws -> Request {
///         request.withHeader(.authorization(bearerToken: try await vault.token()))
///     }
/// }
/// ```
///
/// The session's adapters are asked first, then the request's; each gets what the one before it made. They run on the pool,
/// never on the session's thread, and are cancelled with their call.
public protocol RequestAdapter: Sendable {
    /// The request to send instead.
    ///
    /// - Parameter request: The request of the caller, completed by the adapters before this one: always as if it was the first
    ///   attempt.
    /// - Throws: What keeps it from being sent. Retriers are asked about it as about any failure; if none wants to go on, the
    ///   caller gets it unchanged.
    func adapt(_ request: Request, context: CallContext) async throws -> Request
}

/// An adapter of a closure.
public struct Adapter: RequestInterceptor {
    private let change: @Sendable (Request, CallContext) async throws -> Request

    /// An adapter of a closure.
    public init(_ change: @escaping @Sendable (Request, CallContext) async throws -> Request) { self.change = change }

    /// What the closure makes of it.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        try await change(request, context)
    }
}

extension Adapter: OneSidedInterceptor {}
