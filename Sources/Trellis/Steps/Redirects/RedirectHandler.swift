/// Decides about each redirect that the session's ``RedirectPolicy`` would follow.
///
/// ``Redirector`` has what is mostly wanted. A request's handler is asked in place of the session's; it runs on the pool, and is
/// cancelled with its call.
public protocol RedirectHandler: Sendable {
    /// Whether there is anything to ask. Where it is `false`, every redirect is an answer, those included that the policy would
    /// refuse. `true` unless a type says otherwise.
    var followsRedirects: Bool { get }

    /// What is sent next.
    ///
    /// - Parameters:
    ///   - request: What would be sent: with the method, the body and the fields that the ``RedirectPolicy`` leaves it. Fields
    ///     that are put back are sent to wherever it leads.
    ///   - response: The redirect.
    /// - Returns: The request, changed or not; `nil` makes `response` the answer.
    /// - Throws: What the caller gets, unchanged.
    func redirect(to request: Request, for response: Response, context: CallContext) async throws -> Request?
}

extension RedirectHandler {
    /// There is something to ask.
    public var followsRedirects: Bool { true }
}

/// Follows redirects, does not, or changes where they lead.
public struct Redirector: RedirectHandler {
    private enum Behavior: Sendable {
        case follow
        case doNotFollow
        case modify(@Sendable (Request, Response) async throws -> Request?)
    }

    private let behavior: Behavior

    /// Every redirect is followed that the ``RedirectPolicy`` does not refuse.
    public static let follow = Redirector(behavior: .follow)

    /// Every redirect is an answer.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// A closure makes the next request of the one that would be sent and the redirect; of `nil` the redirect becomes the
    /// answer.
    public static func modify(
        using change: @escaping @Sendable (_ request: Request, _ response: Response) async throws -> Request?
    ) -> Redirector { Redirector(behavior: .modify(change)) }

    /// `false` for ``doNotFollow``.
    public var followsRedirects: Bool { if case .doNotFollow = behavior { false } else { true } }

    /// What the behaviour makes of the request.
    public func redirect(to request: Request, for response: Response, context: CallContext) async throws -> Request? {
        switch behavior {
        case .follow: request
        case .doNotFollow: nil
        case .modify(let change): try await change(request, response)
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// Every redirect is followed that the ``RedirectPolicy`` does not refuse.
    public static var follow: Redirector { Redirector.follow }

    /// Every redirect is an answer.
    public static var doNotFollow: Redirector { Redirector.doNotFollow }

    /// A closure makes the next request; of `nil` the redirect becomes the answer.
    public static func modify(
        using change: @escaping @Sendable (_ request: Request, _ response: Response) async throws -> Request?
    ) -> Redirector { Redirector.modify(using: change) }
}
