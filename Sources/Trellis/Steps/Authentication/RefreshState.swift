/// What becomes of calls while a credential is used, refused and renewed, as a value. It knows neither the credential nor
/// who waits: ``CredentialKeeper`` does. It remembers no call: with which credential one was sent again, the call's own record
/// knows, and forgets with it.
struct RefreshState: Sendable {
    /// What a call is to do.
    enum Decision: Hashable, Sendable {
        /// Go out, or out again, with the credential as it is now.
        case proceed
        /// Wait for the refresh under way.
        case wait
        /// Begin this refresh, and wait for it.
        case refresh(Int)
        /// Take the answer as it is: another attempt would change nothing.
        case leave
        case fail(Failure)
    }

    enum Failure: Hashable, Sendable {
        case missingCredential
        case excessiveRefresh
        /// With what the last refresh failed with.
        case refreshFailed
    }

    private enum Phase: Hashable {
        case idle
        case refreshing
        /// Calls up to this one went out before the refresh failed, and have its error. A later one tries again.
        case failed(through: UInt64)
    }

    /// Counts the credentials.
    private(set) var version = 0
    /// The present credential came from a refresh.
    private(set) var isRenewed = false
    private let window: RefreshWindow?
    private var hasCredential: Bool
    private var phase = Phase.idle
    /// The last refresh that has begun; what an earlier one brings is not wanted any more.
    private var lastRefresh = 0
    /// When the last refreshes began, as many as the window may hold.
    private var begun: [Duration] = []
    /// The credential required a refresh when it came from one.
    private var ignoresExpiry = false
    /// The latest call that has been let out or waits.
    private var latestCall: UInt64 = 0

    init(hasCredential: Bool, window: RefreshWindow?) {
        self.hasCredential = hasCredential
        self.window = window
    }

    // MARK: Calls

    /// A call is about to go out.
    mutating func adapt(_ call: UInt64, requiresRefresh: Bool, at now: Duration) -> Decision {
        latestCall = max(latestCall, call)
        if phase == .refreshing { return .wait }
        guard hasCredential else { return .fail(.missingCredential) }
        return requiresRefresh && !ignoresExpiry ? beginRefresh(at: now) : .proceed
    }

    /// A call was refused.
    ///
    /// - Parameters:
    ///   - isCurrent: It had gone out with the credential of `version`.
    ///   - repeated: The version of the credential with which it was sent again the last time that it was refused; `nil`: it was
    ///     not. Once with each is enough.
    mutating func refuse(
        _ call: UInt64, isCurrent: Bool, ofVersion version: Int, repeatedWith repeated: Int? = nil, at now: Duration
    ) -> Decision {
        if phase == .refreshing { return .wait }
        guard hasCredential else { return .fail(.missingCredential) }
        guard repeated != self.version else { return .leave }
        guard isCurrent, version == self.version else { return .proceed }
        if case .failed(let last) = phase, call <= last { return .fail(.refreshFailed) }
        return beginRefresh(at: now)
    }

    private mutating func beginRefresh(at now: Duration) -> Decision {
        if let window {
            begun.removeAll { $0 < now - window.interval }
            guard begun.count < window.maximumAttempts else { return .fail(.excessiveRefresh) }
            begun.append(now)
        }
        lastRefresh += 1
        phase = .refreshing
        return .refresh(lastRefresh)
    }

    // MARK: Refreshes

    /// A refresh has brought a credential. `false` where that is not wanted any more. One that comes too late is, unless there
    /// is another by now: the server may have made the one before it invalid.
    mutating func refreshed(_ refresh: Int, requiresRefresh: Bool) -> Bool {
        guard refresh == lastRefresh, phase != .idle else { return false }
        takeCredential(true)
        isRenewed = true
        ignoresExpiry = requiresRefresh
        return true
    }

    /// A refresh has failed or taken too long. `false` where nobody cares any more.
    mutating func refreshFailed(_ refresh: Int) -> Bool {
        guard refresh == lastRefresh, phase == .refreshing else { return false }
        phase = .failed(through: latestCall)
        return true
    }

    /// The user has set a credential, or taken it away. The refreshes of the window stay counted.
    mutating func replace(hasCredential: Bool) {
        takeCredential(hasCredential)
        lastRefresh += 1
        isRenewed = false
        ignoresExpiry = false
    }

    private mutating func takeCredential(_ exists: Bool) {
        hasCredential = exists
        version += 1
        phase = .idle
    }
}
