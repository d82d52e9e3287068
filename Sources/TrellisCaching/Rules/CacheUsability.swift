import TrellisCore

/// The answer to the question whether a stored response may be used without asking the origin (RFC 9111, section 4.2).
struct CacheUsability: Hashable, Sendable {
    /// The answers.
    enum Outcome: Hashable, Sendable {
        /// The response is fresh enough.
        case fresh
        /// The response is stale, and the request accepts that.
        case staleAllowed
        /// The response is stale, and is used for the last time before it is validated (RFC 5861, section 3).
        case staleWhileRevalidate
        /// The origin must be asked.
        case mustValidate
    }

    let outcome: Outcome
    /// The age of the response in seconds; zero if it is not known.
    let age: Int64
    /// The time in seconds for which the response stays fresh; negative if it is stale.
    let timeToLive: Int64
    /// Whether a directive of the response or of the request allows the use in spite of a failure.
    var isAllowedByDirective = false

    /// Creates the answer.
    ///
    /// - Parameters:
    ///   - request: The directives of the request.
    ///   - mode: The mode of the request.
    init(of facts: CacheFacts, for request: CacheDirectives, mode: CacheMode, at now: CacheTime) {
        let freshness = facts.freshness
        guard let milliseconds = facts.age(at: now) else {
            (outcome, age, timeToLive) = (.mustValidate, 0, 0)
            return
        }
        let rest = facts.rest(atAge: milliseconds)
        age = milliseconds / 1000
        timeToLive = CacheFacts.seconds(ofRest: rest)
        outcome = Self.outcome(
            of: freshness, age: milliseconds, rest: rest, for: request, mode: mode, under: facts.policy)
    }

    /// Creates the answer for a stored response instead of a failure; `nil` if the response must not be used.
    ///
    /// A directive allows that (RFC 5861, section 4), or the origin cannot be reached, and the policy allows it (RFC 9111, section 4.2.4).
    ///
    /// - Parameters:
    ///   - request: The directives of the request.
    ///   - mode: The mode of the request.
    ///   - isUnreachable: Whether there was no response.
    init?(
        ifError facts: CacheFacts, for request: CacheDirectives, mode: CacheMode, isUnreachable: Bool, at now: CacheTime
    ) {
        let freshness = facts.freshness
        guard mode != .noCache, let milliseconds = facts.age(at: now), !Self.mustBeFresh(freshness, facts.policy)
        else { return nil }
        let rest = facts.rest(atAge: milliseconds)
        let seconds = freshness.directives.seconds(.staleIfError).number ?? request.seconds(.staleIfError).number
        if let seconds {
            guard -rest <= seconds * 1000 else { return nil }
        } else {
            guard isUnreachable, Self.acceptsStale(request, rest), facts.policy.allowsStaleness(of: -rest) else {
                return nil
            }
        }
        isAllowedByDirective = seconds != nil
        outcome = .staleAllowed
        age = milliseconds / 1000
        timeToLive = CacheFacts.seconds(ofRest: rest)
    }

    /// Returns whether no directive of a request demands a response that is fresher.
    private static func acceptsStale(_ request: CacheDirectives, _ rest: Int64) -> Bool {
        guard !request.contains(.noCache), isRestrictedByNothing(request) else { return false }
        return request.seconds(.maxStale).number.map { -rest <= $0 * 1000 } ?? true
    }

    private static func outcome(
        of freshness: CacheFreshness, age: Int64, rest: Int64, for request: CacheDirectives, mode: CacheMode,
        under policy: CachePolicy
    ) -> Outcome {
        let isFresh = rest > 0
        let response = freshness.directives
        // With names of fields, the directive counts as without them: the stricter reading (RFC 9111, section 5.2.2.4).
        if response.contains(.noCache) { return .mustValidate }
        let mayBeStale = !mustBeFresh(freshness, policy)
        switch mode {
        case .forceCache, .onlyIfCached: return isFresh ? .fresh : mayBeStale ? .staleAllowed : .mustValidate
        case .noCache: return isFresh && response.contains(.immutable) ? .fresh : .mustValidate
        case .default, .noStore, .reload: break
        }
        if request.contains(.noCache) { return .mustValidate }
        switch request.seconds(.maxAge) {
        case .none: break
        case .invalid: return .mustValidate
        case .value(let limit):
            if age > limit * 1000 { return staleOutcome(rest: rest, for: request, mayBeStale: mayBeStale) }
        }
        if isFresh {
            switch request.seconds(.minFresh) {
            case .none: return .fresh
            case .invalid: return .mustValidate
            case .value(let wanted): return rest >= wanted * 1000 ? .fresh : .mustValidate
            }
        }
        let outcome = staleOutcome(rest: rest, for: request, mayBeStale: mayBeStale)
        if outcome == .mustValidate, mayBeStale, isRestrictedByNothing(request),
            let extra = response.seconds(.staleWhileRevalidate).number, -rest < extra * 1000
        {
            return .staleWhileRevalidate
        }
        return outcome
    }

    /// Returns the outcome about a response that is stale, or older than the request wants.
    private static func staleOutcome(rest: Int64, for request: CacheDirectives, mayBeStale: Bool) -> Outcome {
        guard mayBeStale, rest <= 0, request.contains(.maxStale) else { return .mustValidate }
        if request.isUnqualified(.maxStale) { return .staleAllowed }
        guard let limit = request.seconds(.maxStale).number else { return .mustValidate }
        return -rest <= limit * 1000 ? .staleAllowed : .mustValidate
    }

    private static func isRestrictedByNothing(_ request: CacheDirectives) -> Bool {
        request.seconds(.maxAge) == .none && request.seconds(.minFresh) == .none
    }

    /// Returns whether the response must never be used when it is stale (RFC 9111, section 4.2.4).
    static func mustBeFresh(_ freshness: CacheFreshness, _ policy: CachePolicy) -> Bool {
        let directives = freshness.directives
        if directives.contains(.mustRevalidate) || directives.contains(.noCache) { return true }
        return policy.isShared && (directives.contains(.proxyRevalidate) || directives.contains(.sharedMaxAge))
    }
}
