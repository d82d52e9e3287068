/// A limit on a number of bytes.
public enum ByteLimit: Sendable, Hashable {
    /// The maximum number of bytes.
    case bytes(Int)
    /// An unlimited number of bytes.
    case unlimited

    /// Returns `true` if `count` bytes exceed the limit.
    package func isExceeded(by count: Int) -> Bool {
        if case .bytes(let limit) = self { count > limit } else { false }
    }

    /// The limit in bytes; `Int.max` for ``unlimited``.
    package var bytes: Int { if case .bytes(let limit) = self { limit } else { .max } }
}
