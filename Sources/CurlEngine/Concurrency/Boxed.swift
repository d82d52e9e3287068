// Public, because the compiler (as of 6.3) inlines inlinable functions of a package into its other modules only if they are public.
/// A value behind one reference: its holder is small, and its copies share the value.
public final class Boxed<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value

    /// Creates a box for a value.
    @inlinable
    public init(_ value: consuming Value) { self.value = value }
}

extension Boxed: Equatable where Value: Equatable {
    /// Returns whether the values are equal.
    @inlinable
    public static func == (one: Boxed, other: Boxed) -> Bool { one === other || one.value == other.value }
}

extension Boxed: Hashable where Value: Hashable {
    /// Hashes the value.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
