/// The state machine of a credential that is used, refused and renewed, as a value: decides what each call does. The machine
/// knows neither the credential nor the waiters; ``CredentialStore`` does. The machine remembers no calls: the version of the
/// credential that a call was sent again with is in the call's own record, and ends with that record.
struct RefreshState: Sendable {
    /// The decision about a call.
    enum Decision: Hashable, Sendable {
        /// The call is sent, for the first time or again, with the current credential.
        case proceed
        /// The call waits for the refresh under way.
        case wait
        /// The call begins the refresh with this number, and waits for it.
        case refresh(Int)
        /// The call ends with its response as it is: another attempt would change nothing.
        case leave
        /// The call ends with an error.
        case fail(Failure)
    }

    /// The reason why a call fails.
    enum Failure: Hashable, Sendable {
        case missingCredential
        case excessiveRefresh
        /// The last refresh failed, and the call fails with its error.
        case refreshFailed
    }

    /// The phase of the current credential.
    private enum Phase {
        case idle
        case refreshing
        /// The last refresh failed. A call that was authenticated before it began gets its error; any other call tries again.
        case failed
    }

    /// The number of the current credential, which counts all credentials so far.
    private(set) var version = 0
    /// Whether the current credential came from a refresh.
    private(set) var isRenewed = false
    private let window: RefreshWindow?
    private var hasCredential: Bool
    private var phase = Phase.idle
    /// The number of the last refresh that has begun; the result of an earlier refresh is not wanted any more.
    private(set) var lastRefresh = 0
    /// The times at which the last refreshes began, as many as the window may hold.
    private var begun: [Duration] = []
    /// Whether the credential required a refresh already when it came from one, so that its expiry is ignored.
    private var ignoresExpiry = false

    init(hasCredential: Bool, window: RefreshWindow?) {
        self.hasCredential = hasCredential
        self.window = window
    }

    // MARK: Calls

    /// Decides about a call that is about to be sent.
    mutating func adapt(requiresRefresh: Bool, at now: Duration) -> Decision {
        if phase == .refreshing { return .wait }
        guard hasCredential else { return .fail(.missingCredential) }
        return requiresRefresh && !ignoresExpiry ? beginRefresh(at: now) : .proceed
    }

    /// Decides about a call that was refused.
    ///
    /// - Parameters:
    ///   - isCurrent: Whether the call was sent with the credential of `version`.
    ///   - repeated: The version of the credential that the call was sent again with the last time that it was refused; `nil`
    ///     if the call was not sent again. Once with each credential is enough.
    ///   - refresh: The number of the last refresh that had begun when the call was authenticated.
    mutating func refuse(
        isCurrent: Bool, ofVersion version: Int, repeatedWith repeated: Int? = nil, sentAfter refresh: Int,
        at now: Duration
    ) -> Decision {
        if phase == .refreshing { return .wait }
        guard hasCredential else { return .fail(.missingCredential) }
        guard repeated != self.version else { return .leave }
        guard isCurrent, version == self.version else { return .proceed }
        if phase == .failed, refresh < lastRefresh { return .fail(.refreshFailed) }
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

    /// Takes the credential of a refresh; returns `false` if the credential is not wanted any more. A credential that arrives
    /// too late is taken, unless another one has arrived already: the server may have made the previous credential invalid.
    mutating func refreshed(_ refresh: Int, requiresRefresh: Bool) -> Bool {
        guard refresh == lastRefresh, phase != .idle else { return false }
        takeCredential(true)
        isRenewed = true
        ignoresExpiry = requiresRefresh
        return true
    }

    /// Records that a refresh has failed or taken too long; returns `false` if the refresh is not wanted any more.
    mutating func refreshFailed(_ refresh: Int) -> Bool {
        guard refresh == lastRefresh, phase == .refreshing else { return false }
        phase = .failed
        return true
    }

    /// Records that the session of a refresh has ended before the refresh; returns `false` if the refresh is not wanted any more.
    /// The next call that needs another credential begins a refresh with its own session.
    mutating func refreshAbandoned(_ refresh: Int) -> Bool {
        guard refresh == lastRefresh, phase == .refreshing else { return false }
        phase = .idle
        return true
    }

    /// Records that the user has set a credential, or removed it. The refreshes of the window stay counted.
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
