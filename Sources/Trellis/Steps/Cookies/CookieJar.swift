public import FoundationEssentials

/// Cookies in memory. They end with it.
///
/// ```swift
/// let jar = CookieJar()
/// await jar.store(["id=42; Path=/; Secure"], from: "https://example.com/login")
/// Cookie.field(await jar.cookies(for: "https://example.com/"))  // "id=42"
/// ```
///
/// What is a public suffix says the list of libpsl, if libcurl was built with it; otherwise a domain without a dot is one.
public actor CookieJar: CookieStorage {
    private var store: CookieStore
    private let now: @Sendable () -> Date

    /// An empty jar.
    ///
    /// - Parameters:
    ///   - limits: how much it keeps.
    ///   - now: tells the time; for tests.
    public init(limits: CookieLimits = CookieLimits(), now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(limits: limits, suffixes: .system, now: now)
    }

    init(limits: CookieLimits = CookieLimits(), suffixes: PublicSuffixes, now: @escaping @Sendable () -> Date) {
        store = CookieStore(limits: limits, suffixes: suffixes)
        self.now = now
    }

    /// The cookies to send with a request, in their order.
    public func cookies(for url: CookieURL) -> [Cookie] { store.cookies(for: url, at: now()) }

    /// Stores what the `Set-Cookie` fields of a response say.
    public func store(_ fields: [String], from url: CookieURL) {
        guard !fields.isEmpty else { return }
        _ = store.receive(fields, from: url, at: now())
    }

    /// Stores cookies of the caller's; those that have ended are removed.
    public func insert(_ cookies: [Cookie]) { _ = store.insert(cookies, at: now()) }

    /// Every cookie that has not ended, in the order in which they came.
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
