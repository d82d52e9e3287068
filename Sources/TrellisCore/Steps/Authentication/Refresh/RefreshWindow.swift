/// A limit on the number of refreshes of a credential that may begin within a span of time.
///
/// The limit guards against a server that refuses every credential that it issues, and against a refresh that fails at once. A
/// refresh beyond the limit is not begun, and its requests fail with ``AuthenticationError/excessiveRefresh``.
public struct RefreshWindow: Sendable, Hashable {
    /// The span of time before the present, 30 seconds by default.
    public var interval: Duration
    /// The number of refreshes that may begin within the interval, 5 by default.
    public var maximumAttempts: Int

    /// Creates a window.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}

/// The task-local mark that distinguishes the requests of a refresh from the requests that wait for it.
enum RefreshScope {
    /// The refreshes that the running task is part of, by their ``CredentialStore``.
    @TaskLocal static var refreshes: Set<ObjectIdentifier> = []
}
