import HTTPTypes

/// The rank of a request among the requests that wait.
///
/// The priority counts if requests wait for each other: for a connection to their origin, and for a rate limit of their host.
/// The server learns the priority only from ``Request/withPriority(_:tellsServer:)``.
public enum RequestPriority: UInt8, Sendable, Hashable, Comparable, CaseIterable, Codable {
    /// Background requests: prefetching, reports, backups.
    case low = 0
    /// Requests without a special urgency; the default.
    case normal = 1
    /// Urgent requests, such as those that a user waits for while other requests can wait.
    case high = 2

    /// Returns `true` if the left priority gives way to the right one.
    public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.rawValue < right.rawValue }

    /// The value of the field `Priority` (RFC 9218, section 4.1); `nil` for the urgency of requests without the field.
    var urgency: String? {
        switch self {
        case .low: "u=5"
        case .normal: nil
        case .high: "u=1"
        }
    }
}

extension HTTPField.Name {
    /// The field `Priority` (RFC 9218, section 5).
    static let priority = Self("Priority") ?? .te  // A valid token: the fallback is never used.
}
