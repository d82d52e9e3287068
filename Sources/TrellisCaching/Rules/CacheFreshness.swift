import CurlEngine
import HTTPTypes
import TrellisCore

/// The time for which a response is fresh (RFC 9111, section 4.2), and what else its directives say about its use.
struct CacheFreshness: Hashable, Sendable {
    /// The source of the lifetime.
    enum Source: Hashable, Sendable {
        case sharedMaxAge
        case maxAge
        case expires
        case heuristic
        /// There is no lifetime: the response is stale from the beginning.
        case none
    }

    /// The time for which the response is fresh, in seconds.
    let lifetime: Int64
    let source: Source
    /// The directives that count.
    let directives: CacheDirectives

    /// Whether the lifetime is the origin's, not an estimate.
    var isExplicit: Bool { source != .none && source != .heuristic }

    /// - Parameters:
    ///   - values: The values of the head's fields.
    ///   - date: The date of the head, which takes long to compute.
    init(of head: StoredHead, _ values: CacheHeaders, date: CacheTime, under policy: CachePolicy) {
        let (directives, isTargeted) = Self.directives(of: head, values, policy)
        self.directives = directives
        (lifetime, source) = Self.lifetime(
            of: head, values, date: date, directives: directives, under: policy, isTargeted: isTargeted)
    }

    // MARK: Directives

    /// Returns the directives that count: in the first targeted field that is present, or else in `Cache-Control`.
    static func directives(
        of head: StoredHead, _ values: CacheHeaders, _ policy: CachePolicy
    ) -> (CacheDirectives, isTargeted: Bool) {
        for name in policy.targetedFieldNames {
            let lines = head.deciding[values: name]
            if !lines.isEmpty, let targeted = targeted(lines) { return (targeted, true) }
        }
        return (values.directives, false)
    }

    /// Returns the directives of a targeted field (RFC 9213, section 2.1); `nil` if its value is empty or malformed. A member whose value
    /// is of another type than the directive has is left out. A string of field names counts as no names: the stricter reading.
    private static func targeted(_ lines: [String]) -> CacheDirectives? {
        guard let dictionary = StructuredDictionary(parsing: lines), !dictionary.members.isEmpty else { return nil }
        var directives = CacheDirectives()
        for case (let key, .item(let item)) in dictionary.members {
            switch item.value {
            case .boolean(true): directives.add(key)
            case .integer(let number) where number >= 0: directives.add(key, "\(number)")
            case .string where key.hasSameBytes(as: "no-cache") || key.hasSameBytes(as: "private"): directives.add(key)
            default: break
            }
        }
        return directives
    }

    // MARK: Lifetime

    private static func lifetime(
        of head: StoredHead, _ values: CacheHeaders, date: CacheTime, directives: CacheDirectives,
        under policy: CachePolicy, isTargeted: Bool
    ) -> (Int64, Source) {
        if policy.isShared, let lifetime = lifetime(directives.seconds(.sharedMaxAge)) {
            return (lifetime, .sharedMaxAge)
        }
        if let lifetime = lifetime(directives.seconds(.maxAge)) { return (lifetime, .maxAge) }
        if !isTargeted, let lifetime = lifetime(values.expires, date) { return (lifetime, .expires) }
        let heuristic = heuristic(of: head, values, date: date, directives: directives, under: policy)
        return (heuristic, heuristic > 0 ? .heuristic : .none)
    }

    /// Returns the lifetime of a directive: none if the directive is malformed (RFC 9111, section 4.2.1); `nil` if it is not present.
    private static func lifetime(_ seconds: CacheDirectives.Seconds) -> Int64? {
        switch seconds {
        case .none: nil
        case .invalid: 0
        case .value(let number): number
        }
    }

    /// Returns the lifetime of `Expires`: none if its date is malformed or ambiguous (RFC 9111, section 5.3); `nil` if it is not present.
    private static func lifetime(_ expires: CacheHeaders.Expiry, _ date: CacheTime) -> Int64? {
        switch expires {
        case .none: return nil
        case .invalid: return 0
        case .at(let end):
            let seconds = CacheTime(end).milliseconds(since: date) / 1000
            return min(max(seconds, 0), CacheDirectives.Seconds.maximum)
        }
    }

    /// Returns an estimate from the time since the last modification (RFC 9111, section 4.2.2).
    private static func heuristic(
        of head: StoredHead, _ values: CacheHeaders, date: CacheTime, directives: CacheDirectives,
        under policy: CachePolicy
    ) -> Int64 {
        guard isHeuristicallyCacheable(head.status) || directives.contains(.public),
            let modified = values.lastModified, policy.heuristicShare > 0
        else { return 0 }
        let seconds = Double(date.milliseconds(since: CacheTime(modified))) / 1000 * policy.heuristicShare
        let limit = Double(policy.maximumHeuristicLifetime.components.seconds)
        return Int64(min(max(seconds, 0), max(limit, 0)))
    }

    /// Returns whether a response with a status may be stored without explicit freshness (RFC 9110, section 15.1).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}
