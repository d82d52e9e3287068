/// A limit on a number of bytes.
public enum ByteLimit: Sendable, Hashable {
    /// At most so many bytes.
    case bytes(Int)
    /// No limit.
    case unlimited

    /// Whether `count` bytes are too many.
    func isExceeded(by count: Int) -> Bool {
        if case .bytes(let limit) = self { count > limit } else { false }
    }

    /// The number, or the largest there is.
    var bytes: Int { if case .bytes(let limit) = self { limit } else { .max } }
}
