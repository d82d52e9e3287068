/// How many refreshes of a credential may begin within a span of time.
///
/// What it guards against: a server that refuses every credential it gives out, or a refresh that fails at once. The refresh
/// that would be one too many is not begun, and its requests fail with ``AuthenticationError/excessiveRefresh``.
public struct RefreshWindow: Sendable, Hashable {
    /// The span of time before the present; 30 seconds unless given.
    public var interval: Duration
    /// The refreshes that may have begun within it; 5 unless given.
    public var maximumAttempts: Int

    /// A window.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}
