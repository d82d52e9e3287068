import TrellisCore

/// A handler that decides about each response that a cache could store, as Alamofire's has it.
///
/// ``ResponseCacher`` covers the usual cases. A request's handler (``Steps/cachedResponseHandler``) is asked instead of the session's.
public protocol CachedResponseHandler: Sendable {
    /// Returns the head with which a response is stored.
    ///
    /// The rules of the cache decide about the changed head: a handler can make a response storable that was not, or fresh for longer. The
    /// handler runs when the head has been received and before the body is read from a stream, usually on the pool and never on the
    /// session's thread. The response that the caller gets is not changed.
    ///
    /// - Parameters:
    ///   - head: The head as it was received, without the fields that concern only the connection.
    ///   - request: The request.
    /// - Returns: The head, changed or not; `nil` if the response is not to be stored.
    func headToStore(_ head: CachedHead, of request: Request) async -> CachedHead?
}

/// A handler that stores responses as they are, stores none, or changes their heads.
///
/// ```swift
/// var request = Request("https://example.com/rates")
/// request = request.withSteps {
///     $0.cachedResponseHandler = ResponseCacher.modify { head, _ in
///         var head = head
///         head.headers[.cacheControl] = "max-age=60"
///         return head
///     }
/// }
/// ```
public struct ResponseCacher: CachedResponseHandler {
    fileprivate enum Behavior: Sendable {
        case cache
        case doNotCache
        case modify(@Sendable (CachedHead, Request) async -> CachedHead?)
    }

    fileprivate let behavior: Behavior

    /// Whether the handler stores all responses that may be stored, or none; `nil` if it has a closure.
    var storesAll: Bool? {
        switch behavior {
        case .cache: true
        case .doNotCache: false
        case .modify: nil
        }
    }

    /// Returns the head that the behavior makes of the one that was received.
    public func headToStore(_ head: CachedHead, of request: Request) async -> CachedHead? {
        switch behavior {
        case .cache: head
        case .doNotCache: nil
        case .modify(let change): await change(head, request)
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// A handler that stores every response that may be stored.
    public static var cache: ResponseCacher { ResponseCacher(behavior: .cache) }

    /// A handler that stores no response.
    public static var doNotCache: ResponseCacher { ResponseCacher(behavior: .doNotCache) }

    /// Returns a handler whose closure makes the head that is stored; if the closure returns `nil`, the response is not stored.
    public static func modify(
        using change: @escaping @Sendable (_ head: CachedHead, _ request: Request) async -> CachedHead?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(change)) }
}
