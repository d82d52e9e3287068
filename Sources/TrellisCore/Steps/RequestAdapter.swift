/// A step that changes the request before each attempt: adds credentials, signs, routes.
///
/// ```swift
/// struct VaultToken: RequestAdapter {
///     func adapt(_ request: Request, context: CallContext) async throws -> Request {
///         request.withHeader(.authorization(bearerToken: try await vault.token()))
///     }
/// }
/// ```
///
/// The session's adapters run first, then the request's; each gets the result of the one before. The adapters of a call that a
/// verb makes begin on the caller's thread and continue on the pool after a suspension; a handle's call runs them on the
/// pool. No adapter runs on the session's thread. Adapters are cancelled with their call.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send instead.
    ///
    /// - Parameters:
    ///   - request: The request of the caller, or the request that redirects within its origin have led to, without the changes
    ///     that adapters made in earlier attempts, and with the changes of the adapters before this one.
    ///   - context: The call.
    /// - Throws: The reason why the request cannot be sent. Retriers are asked about the error as about any failure; if none asks
    ///   for another attempt, the caller gets the error unchanged.
    func adapt(_ request: Request, context: CallContext) async throws -> Request
}

/// An adapter that calls a closure.
public struct Adapter: RequestInterceptor {
    /// The closure, which waits or does not.
    private enum Change: Sendable {
        case waiting(@Sendable (Request, CallContext) async throws -> Request)
        case immediate(@Sendable (Request, CallContext) throws -> Request)
    }

    private let change: Change

    /// Creates an adapter that calls a closure.
    public init(_ change: @escaping @Sendable (Request, CallContext) async throws -> Request) {
        self.change = .waiting(change)
    }

    /// Creates an adapter that calls a closure which does not wait. A call whose steps do not wait has no separate task.
    public init(_ change: @escaping @Sendable (Request, CallContext) throws -> Request) {
        self.change = .immediate(change)
    }

    /// Returns the request that the closure returns.
    ///
    /// - Throws: The error of the closure.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        switch change {
        case .waiting(let change): try await change(request, context)
        case .immediate(let change): try change(request, context)
        }
    }
}

extension Adapter: ImmediateAdapter {
    var isImmediate: Bool { if case .immediate = change { true } else { false } }

    func adaptAtOnce(_ request: Request, context: CallContext) throws -> Request {
        guard case .immediate(let change) = change else { return request }
        return try change(request, context)
    }
}

extension Adapter: PartialInterceptor {}
