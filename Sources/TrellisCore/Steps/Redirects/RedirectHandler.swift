/// A handler that decides about each redirect that the session's ``RedirectPolicy`` would follow.
///
/// ``Redirector`` covers the usual cases. A request's handler is asked instead of the session's. The handler runs after a
/// response has arrived, usually on the pool and never on the session's thread, and is cancelled with its call.
public protocol RedirectHandler: Sendable {
    /// Whether the handler is asked at all. If it is `false`, every redirect is the final response, including those
    /// that the policy would refuse. `true` by default.
    var followsRedirects: Bool { get }

    /// Returns the request that is sent next.
    ///
    /// - Parameters:
    ///   - request: The request that would be sent, with the method, the body and the fields that the ``RedirectPolicy`` leaves
    ///     it. Fields that the handler adds are sent to any target. If the handler changes the URL to one of another origin, the
    ///     fields that were meant for the old origin (see ``RedirectPolicy``) are removed, unless the handler has changed them.
    ///   - response: The redirect.
    ///   - context: The call.
    /// - Returns: The request, changed or not; `nil` makes `response` the final response.
    /// - Throws: The error that the caller gets, unchanged.
    func redirect(to request: Request, for response: Response, context: CallContext) async throws -> Request?
}

extension RedirectHandler {
    /// The default, `true`: the handler is asked.
    public var followsRedirects: Bool { true }
}

/// A handler that follows redirects, does not follow them, or changes their targets.
public struct Redirector: RedirectHandler {
    fileprivate enum Behavior: Sendable {
        case follow
        case doNotFollow
        case modify(@Sendable (Request, Response) async throws -> Request?)
    }

    fileprivate let behavior: Behavior

    /// Whether the handler is asked: `false` for a handler that follows no redirect.
    public var followsRedirects: Bool { if case .doNotFollow = behavior { false } else { true } }

    /// Returns the request that the behavior makes of the request that would be sent.
    ///
    /// - Throws: The error of the closure, if the behavior has one.
    public func redirect(to request: Request, for response: Response, context: CallContext) async throws -> Request? {
        switch behavior {
        case .follow: request
        case .doNotFollow: nil
        case .modify(let change): try await change(request, response)
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// A handler that follows every redirect that the ``RedirectPolicy`` does not refuse.
    public static var follow: Redirector { Redirector(behavior: .follow) }

    /// A handler that follows no redirect: every redirect is the final response.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// Returns a handler whose closure makes the next request from the request that would be sent and the redirect; if the
    /// closure returns `nil`, the redirect is the final response.
    public static func modify(
        using change: @escaping @Sendable (_ request: Request, _ response: Response) async throws -> Request?
    ) -> Redirector { Redirector(behavior: .modify(change)) }
}
