/// The steps that most sessions want, by name. Each of these properties reads and changes ``SessionConfiguration/steps``.
extension SessionConfiguration {
    /// The policy that sends requests again after transient failures; `nil`, the default, for none.
    ///
    /// ```swift
    /// configuration.retry = RetryPolicy(retryLimit: 3)
    /// ```
    ///
    /// The value is the first ``RetryPolicy`` among ``Steps/retriers`` and ``Steps/adapters``. A new value replaces it where it is and
    /// removes any other one; retriers of your own stay.
    public var retry: RetryPolicy? {
        get { steps.retryPolicy }
        set { steps.replaceRetryPolicies(with: newValue) }
    }

    /// The way in which requests are authenticated; `nil`, the default, for none.
    ///
    /// ```swift
    /// configuration.authentication = try .bearer(token, origin: "https://api.example.com")
    /// ```
    ///
    /// The value is the first of the framework's authentications in ``Steps/adapters``, ``Steps/retriers`` and ``Steps/network``. A new
    /// value removes all of them and is added after the other steps of its list; adapters and steps of your own stay. For several at
    /// once, use ``Authentication/origins(_:)``, or add them to ``steps``.
    public var authentication: Authentication? {
        get { steps.authentication }
        set { steps.replaceAuthentications(with: newValue) }
    }

    /// The storage of cookies; `nil`, the default, if no cookies are kept: ``Steps/cookies``. A jar may belong to several sessions.
    public var cookies: (any CookieStorage)? {
        get { steps.cookies }
        set { steps.cookies = newValue }
    }

    /// The cache of responses; `nil`, the default, for none: ``Steps/cache``. A cache may belong to several sessions.
    public var cache: (any ResponseCaching)? {
        get { steps.cache }
        set { steps.cache = newValue }
    }

    /// The policy that decides which redirects are followed; `nil`, the default, for `RedirectPolicy()`: ``Steps/redirects``.
    public var redirects: RedirectPolicy? {
        get { steps.redirects }
        set { steps.redirects = newValue }
    }
}
