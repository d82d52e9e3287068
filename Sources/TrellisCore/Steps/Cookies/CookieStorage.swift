/// A storage of cookies between requests: ``CookieJar`` in memory, ``CookieFile`` in a file, or your own.
///
/// A session asks the storage before each exchange, retries and redirects included, and passes to it the fields of each response,
/// never on the engine thread. The storage may take its time: the request waits for it.
///
/// A program has no site from which a request is made: every request is same-site and top-level, and cookies are sent
/// regardless of their ``Cookie/sameSite``.
public protocol CookieStorage: Sendable {
    /// Returns the cookies to send with a request, in their order: those for longer paths first, then the older ones
    /// (draft-ietf-httpbis-rfc6265bis-22, section 5.8.3).
    func cookies(for url: CookieURL) async -> [Cookie]
    /// Stores the cookies of the `Set-Cookie` fields of a response, in the order of the fields (RFC 6265bis, section 5.7).
    ///
    /// - Parameters:
    ///   - fields: The values of the fields, with the control characters that they contain. Octets that are not UTF-8 are
    ///     represented as in ``Cookie/value``. Fields that may not be followed are ignored.
    ///   - url: The URL of the request. With redirects each response has its own.
    func store(_ fields: [String], from url: CookieURL) async
    /// Stores cookies of the caller's, regardless of whether a server may set them; cookies that have expired are removed.
    func insert(_ cookies: [Cookie]) async
    /// All cookies that have not expired, in the order of their arrival.
    var all: [Cookie] { get async }
    /// Removes the cookie with the same name, domain and path.
    func remove(_ cookie: Cookie) async
    /// Removes the cookies that end with their session, as a browser does when it is closed.
    func removeSessionCookies() async
    /// Removes all cookies.
    func removeAll() async
}

extension CookieStorage {
    /// Returns the cookies to send with a request for an absolute URL; none if it is no `http` or `https` URL.
    public func cookies(for url: String) async -> [Cookie] {
        guard let url = CookieURL(url) else { return [] }
        return await cookies(for: url)
    }

    /// Stores the cookies of the `Set-Cookie` fields of a response to a request for an absolute URL.
    public func store(_ fields: [String], from url: String) async {
        guard let url = CookieURL(url) else { return }
        await store(fields, from: url)
    }
}
