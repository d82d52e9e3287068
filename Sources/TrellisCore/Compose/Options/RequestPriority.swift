/// The rank of a request among the requests that wait.
///
/// The priority counts if requests wait for each other: for a connection to their origin, and for a rate limit of their host.
/// The priority is not sent to the server.
public enum RequestPriority: UInt8, Sendable, Hashable, Comparable, CaseIterable, Codable {
    /// Background requests: prefetching, reports, backups.
    case low = 0
    /// Requests without a special urgency; the default.
    case normal = 1
    /// Urgent requests, such as those that a user waits for while other requests can wait.
    case high = 2

    /// Returns `true` if the left priority gives way to the right one.
    public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.rawValue < right.rawValue }
}
