import FoundationEssentials

extension Date {
    /// The whole seconds since 1970, of at most 13 digits.
    var wholeSeconds: Int64 {
        Int64(exactly: timeIntervalSince1970.rounded(.down)).map { min(max($0, -limit), limit) } ?? 0
    }
}

extension Duration {
    /// The whole seconds of a duration that is not negative, of at most 13 digits.
    var wholeSeconds: Int64 { min(max(components.seconds, 0), limit) }
}

/// A sum of two such times is an integer of a structured field, which has at most 15 digits.
private let limit: Int64 = 9_999_999_999_999
