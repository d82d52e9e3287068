public import HTTPTypes
import TrellisCore

/// The rules of a cache that RFC 9111 leaves to its owner.
public struct CachePolicy: Sendable, Hashable {
    /// The users that a cache serves.
    public enum Sharing: Sendable, Hashable {
        /// The cache of one user (RFC 9111, section 1): `private` responses are stored, `s-maxage` and `proxy-revalidate` do not count.
        case `private`
        /// The cache of many users, as a gateway has it.
        case shared
    }

    /// The users of the cache; one user by default.
    public var sharing = Sharing.private
    /// The fields that count instead of `Cache-Control` and `Expires`, the first one present first (RFC 9213, section 2.2), such as
    /// `CDN-Cache-Control`. None by default. A targeted field whose value is empty or malformed is ignored.
    public var targetedFieldNames: [HTTPField.Name] = []
    /// The share of the time since the last modification for which a response without explicit freshness is fresh (RFC 9111, section
    /// 4.2.2), 0.1 by default. With 0, such responses are never fresh.
    public var heuristicShare = 0.1
    /// The longest time for which a response without explicit freshness is fresh: a day by default.
    public var maximumHeuristicLifetime: Duration = .seconds(86_400)

    /// The longest time for which a request waits for the response to an equal one that was sent before it: 5 seconds by default. With
    /// zero, every request is sent.
    public var maximumCoalescedWait: Duration = .seconds(5)
    /// The longest time after the end of its freshness for which a response takes the place of a failure to reach the origin (RFC 9111,
    /// section 4.2.4), if neither the response nor the request has a `stale-if-error`. Zero, and so never, by default. No response is used
    /// against its `must-revalidate` or `no-cache`, in the cache of many users against its `proxy-revalidate` or `s-maxage`, or where the
    /// request demands a fresher one.
    public var maximumStaleness: Duration = .zero

    /// Creates the rules with the defaults for all values that are not given.
    public init(
        sharing: Sharing = .private, targetedFieldNames: [HTTPField.Name] = [], heuristicShare: Double = 0.1,
        maximumHeuristicLifetime: Duration = .seconds(86_400),
        maximumCoalescedWait: Duration = .seconds(5), maximumStaleness: Duration = .zero
    ) {
        self.sharing = sharing
        self.targetedFieldNames = targetedFieldNames
        self.heuristicShare = heuristicShare
        self.maximumHeuristicLifetime = maximumHeuristicLifetime
        self.maximumCoalescedWait = maximumCoalescedWait
        self.maximumStaleness = maximumStaleness
    }

    var isShared: Bool { sharing == .shared }

    /// Returns whether a response may take the place of a failure to reach the origin some milliseconds after the end of its freshness.
    func allowsStaleness(of milliseconds: Int64) -> Bool {
        maximumStaleness > .zero && .milliseconds(milliseconds) <= maximumStaleness
    }
}
