/// Which of the requests that wait goes first.
///
/// It counts where requests wait for each other: for a connection to their origin, and for a rate limit of their host. The
/// server is not told.
public enum RequestPriority: UInt8, Sendable, Hashable, Comparable, CaseIterable, Codable {
    /// What nobody waits for: prefetching, reports, backups.
    case low = 0
    /// What is not said to be anything else.
    case normal = 1
    /// What somebody waits for while others can wait.
    case high = 2

    /// Whether one gives way to the other.
    public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.rawValue < right.rawValue }
}
