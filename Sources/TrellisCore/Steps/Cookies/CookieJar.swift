import CurlEngine
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
    /// The cookies, under a lock: a call that needs nothing else does not wait for the actor.
    private nonisolated let state: Locked<CookieJarState>
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
        state = Locked(CookieJarState(CookieStore(limits: limits, suffixes: suffixes)))
        self.now = now
    }

    /// Returns the cookies to send with a request, in their order.
    public func cookies(for url: CookieURL) -> [Cookie] {
        let now = now()
        return state.withLock { $0.store.cookies(for: url, at: now) }
    }

    /// Stores the cookies of the `Set-Cookie` fields of a response.
    public func store(_ fields: [String], from url: CookieURL) {
        guard !fields.isEmpty else { return }
        let now = now()
        state.withLock { _ = $0.store.receive(fields, from: url, at: now) }
    }

    /// Stores cookies of the caller's; cookies that have expired are removed.
    public func insert(_ cookies: [Cookie]) {
        let now = now()
        state.withLock { _ = $0.store.insert(cookies, at: now) }
    }

    /// All cookies that have not expired, in the order of their arrival.
    public var all: [Cookie] {
        let now = now()
        return state.withLock { state in
            state.store.removeExpired(at: now)
            return state.store.all
        }
    }

    /// Removes the cookie with the same name, domain and path.
    public func remove(_ cookie: Cookie) { state.withLock { _ = $0.store.remove(cookie) } }

    /// Removes the cookies that end with their session.
    public func removeSessionCookies() { state.withLock { $0.store.removeAll { !$0.isPersistent } } }

    /// Removes all cookies.
    public func removeAll() { state.withLock { $0.store.removeAll { _ in true } } }
}

/// The answers of a jar, which needs no disk for them, without waiting.
extension CookieJar {
    /// Returns a request with the cookies of its URL after its own.
    nonisolated func addingCookies(to request: Request) -> Request {
        let now = now()
        return state.withLock { $0.adding(to: request, at: now) }
    }

    /// Stores the cookies that the response to a request sets.
    nonisolated func keepCookies(of response: Response, to request: Request) {
        let now = now()
        state.withLock { $0.keep(response.head, from: request.url, at: now) }
    }
}
