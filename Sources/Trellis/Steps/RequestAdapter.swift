/// A step that changes the request before each attempt: adds credentials, signs, routes.
///
/// ```swift
/// struct APIKey: RequestAdapter {
///     func adapt(_ request: Request, context: CallContext) async throws -> Request {
///         request.withHeader(.authorization(bearerToken: try await vault.token()))
///     }
/// }
/// ```
///
/// The session's adapters run first, then the request's; each gets the result of the one before. Adapters run on the pool, never
/// on the session's thread, and are cancelled with their call.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send instead.
    ///
    /// - Parameter request: The request of the caller, changed by the adapters before this one: for each attempt as if it were the
    ///   first.
    /// - Throws: The reason why the request cannot be sent. Retriers are asked about the error as about any failure; if none asks
    ///   for another attempt, the caller gets the error unchanged.
    func adapt(_ request: Request, context: CallContext) async throws -> Request
}

/// An adapter that calls a closure.
public struct Adapter: RequestInterceptor {
    private let change: @Sendable (Request, CallContext) async throws -> Request

    /// Creates an adapter that calls a closure.
    public init(_ change: @escaping @Sendable (Request, CallContext) async throws -> Request) { self.change = change }

    /// Returns the request that the closure returns.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        try await change(request, context)
    }
}

extension Adapter: PartialInterceptor {}
