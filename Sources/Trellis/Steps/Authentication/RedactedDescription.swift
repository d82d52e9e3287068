/// A value that holds secrets, and so never tells its contents: not when it is printed, interpolated, logged or dumped.
///
/// A type of your own has only to conform. Its description is its name.
public protocol RedactedDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension RedactedDescription {
    /// The type's name, and that the rest is left out.
    public var description: String { "\(Self.self)(REDACTED)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// No children: `dump` and debuggers show no secrets either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
