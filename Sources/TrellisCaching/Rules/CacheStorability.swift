import HTTPTypes
import TrellisCore

/// The decision whether a response may be stored (RFC 9111, section 3).
enum CacheStorability: Hashable, Sendable {
    /// The response may be stored, and is of use later.
    case storable
    /// The response is not stored.
    case refused(Reason)

    /// The reason why a response is not stored.
    enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The method of the request is not `GET`, and the response is none that a `GET` can be answered with.
        case method
        /// The request says `no-store`.
        case requestNoStore
        /// The response says `no-store`.
        case noStore
        /// The response is for one user, and the cache for many.
        case `private`
        /// The request has credentials, and the response does not allow a cache for many users to store it.
        case authorization
        /// The response must be understood, and its status is not known.
        case unknownStatus
        /// The response answers no other request: `Vary: *`.
        case varyAny
        /// The part of a representation that the response has is not known.
        case range
        /// The response is stale from the beginning, and has nothing with which the origin could be asked about it.
        case notReusable
    }

    /// Returns the decision about a final response to a request.
    static func decision(
        _ facts: CacheFacts, to method: HTTPRequest.Method, _ request: CacheRequestFields
    ) -> CacheStorability {
        let (head, freshness, policy) = (facts.head, facts.freshness, facts.policy)
        let directives = freshness.directives
        if request.directives.contains(.noStore) { return .refused(.requestNoStore) }
        if directives.contains(.mustUnderstand) {
            // A status that is understood makes `no-store` irrelevant (RFC 9111, section 5.2.2.3).
            guard isUnderstood(head.status) else { return .refused(.unknownStatus) }
        } else if directives.contains(.noStore) {
            return .refused(.noStore)
        }
        if policy.isShared, directives.contains(.private) { return .refused(.private) }
        guard isStorable(method, freshness) else { return .refused(.method) }
        if isForOneUser(directives, under: policy, to: request) { return .refused(.authorization) }
        guard facts.selection != nil else { return .refused(.varyAny) }
        if head.claimsPart, !hasStorableRange(head) { return .refused(.range) }
        return isReusable(facts) ? .storable : .refused(.notReusable)
    }

    /// Returns whether a response is for the one user whose credentials the request has, and the cache for many (RFC 9111, section 3.5).
    static func isForOneUser(
        _ directives: CacheDirectives, under policy: CachePolicy, to request: CacheRequestFields
    ) -> Bool {
        policy.isShared && request.presence.contains(.authorization) && !directives.contains(.public)
            && !directives.contains(.mustRevalidate) && !directives.contains(.sharedMaxAge)
    }

    /// Returns whether a response to a method may be stored: to `GET`, and to `POST` with explicit freshness (RFC 9110, section 9.3.3).
    private static func isStorable(_ method: HTTPRequest.Method, _ freshness: CacheFreshness) -> Bool {
        switch method {
        case .get: true
        case .post: freshness.isExplicit && freshness.lifetime > 0
        default: false
        }
    }

    /// Returns whether a stored response could ever be used: it is fresh for a time, or the origin can be asked about it, or it may be
    /// used although it is stale.
    private static func isReusable(_ facts: CacheFacts) -> Bool {
        let (head, freshness) = (facts.head, facts.freshness)
        guard 200...599 ~= head.status, head.status != 304 else { return false }
        if freshness.isExplicit, freshness.lifetime > 0 { return true }
        let mayBeStored =
            freshness.isExplicit || CacheFreshness.isHeuristicallyCacheable(head.status)
            || freshness.directives.contains(.public)
            || !facts.policy.isShared && freshness.directives.contains(.private)
        return mayBeStored && (freshness.lifetime > 0 || facts.hasValidator || mayBeStale(freshness.directives))
    }

    /// Returns whether a response may be used for a time although it is stale (RFC 5861).
    private static func mayBeStale(_ directives: CacheDirectives) -> Bool {
        directives.seconds(.staleWhileRevalidate).number ?? 0 > 0 || directives.seconds(.staleIfError).number ?? 0 > 0
    }

    /// Returns whether the status is one whose requirements for caches are implemented (RFC 9111, section 3).
    private static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...304, 307, 308, 400...417, 421, 422, 426, 428, 429, 431, 451, 500...505, 511: true
        default: false
        }
    }

    /// Returns whether the response has one part of a representation, which a strong validator identifies (RFC 9111, section 3.3).
    private static func hasStorableRange(_ head: StoredHead) -> Bool {
        guard head.status == 206, let text = head.deciding.single(.contentRange),
            case .part(_, _?)? = ContentRange(text)
        else { return false }
        return StrongValidator(head.deciding) != nil
    }
}
