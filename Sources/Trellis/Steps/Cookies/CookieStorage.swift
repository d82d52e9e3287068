/// Keeps cookies between requests: ``CookieJar`` in memory, ``CookieFile`` in a file, or your own.
///
/// A session asks it before each attempt and gives it what each response sets, on the pool and never on the engine thread.
/// It may take its time: the request waits for it.
///
/// Programs have no site that a request comes from: every request is same-site and top-level, and cookies are sent whatever
/// their ``Cookie/sameSite`` says.
public protocol CookieStorage: Sendable {
    /// The cookies to send with a request, in their order: those for longer paths first, then the older ones
    /// (draft-ietf-httpbis-rfc6265bis-22, section 5.8.3).
    func cookies(for url: CookieURL) async -> [Cookie]
    /// Stores what the `Set-Cookie` fields of a response say, in the order of the fields (section 5.7).
    ///
    /// - Parameters:
    ///   - fields: the values of the fields, with the control characters that came in them. Octets that are no UTF-8 are in them as
    ///     ``Cookie/value`` has them. Those that may not be followed are ignored.
    ///   - url: the URL of the request. With redirects each response has its own.
    func store(_ fields: [String], from url: CookieURL) async
    /// Stores cookies of the caller's, without asking whether a server may set them; those that have ended are removed.
    func insert(_ cookies: [Cookie]) async
    /// Every cookie that has not ended, in the order in which they came.
    var all: [Cookie] { get async }
    /// Removes the cookie with the same name, domain and path.
    func remove(_ cookie: Cookie) async
    /// Removes the cookies that end with their session, as a browser does when it is closed.
    func removeSessionCookies() async
    /// Removes all cookies.
    func removeAll() async
}

extension CookieStorage {
    /// The cookies to send with a request for an absolute URL; none where it is no `http` or `https` URL.
    public func cookies(for url: String) async -> [Cookie] {
        guard let url = CookieURL(url) else { return [] }
        return await cookies(for: url)
    }

    /// Stores what the `Set-Cookie` fields of a response to a request for an absolute URL say.
    public func store(_ fields: [String], from url: String) async {
        guard let url = CookieURL(url) else { return }
        await store(fields, from: url)
    }
}
