public import FoundationEssentials

/// A cookie storage in memory. The cookies end with the jar.
///
/// ```swift
/// let jar = CookieJar()
/// await jar.store(["id=42; Path=/; Secure"], from: "https://example.com/login")
/// Cookie.field(await jar.cookies(for: "https://example.com/"))  // "id=42"
/// ```
///
/// Public suffixes are those on the list of libpsl, if libcurl was built with libpsl; otherwise a domain without a dot is one.
public actor CookieJar: CookieStorage {
    private var store: CookieStore
    private let now: @Sendable () -> Date

    /// Creates an empty jar.
    ///
    /// - Parameters:
    ///   - limits: The limits of the jar.
    ///   - now: Returns the present date; for tests.
    public init(limits: CookieLimits = CookieLimits(), now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(limits: limits, suffixes: .system, now: now)
    }

    init(limits: CookieLimits = CookieLimits(), suffixes: PublicSuffixes, now: @escaping @Sendable () -> Date) {
        store = CookieStore(limits: limits, suffixes: suffixes)
        self.now = now
    }

    /// Returns the cookies to send with a request, in their order.
    public func cookies(for url: CookieURL) -> [Cookie] { store.cookies(for: url, at: now()) }

    /// Stores the cookies of the `Set-Cookie` fields of a response.
    public func store(_ fields: [String], from url: CookieURL) {
        guard !fields.isEmpty else { return }
        _ = store.receive(fields, from: url, at: now())
    }

    /// Stores cookies of the caller's; cookies that have expired are removed.
    public func insert(_ cookies: [Cookie]) { _ = store.insert(cookies, at: now()) }

    /// All cookies that have not expired, in the order of their arrival.
    public var all: [Cookie] {
        store.removeExpired(at: now())
        return store.all
    }

    /// Removes the cookie with the same name, domain and path.
    public func remove(_ cookie: Cookie) { _ = store.remove(cookie) }

    /// Removes the cookies that end with their session.
    public func removeSessionCookies() { store.removeAll { !$0.isPersistent } }

    /// Removes all cookies.
    public func removeAll() { store.removeAll { _ in true } }
}
