/// A value that holds secrets, and so never shows its contents: not when it is printed, interpolated, logged or dumped.
///
/// A type of your own has only to conform; its description is its name.
public protocol RedactedDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension RedactedDescription {
    /// The type's name, with a mark that the contents are left out.
    public var description: String { "\(Self.self)(REDACTED)" }

    /// The same text as ``description``.
    public var debugDescription: String { description }

    /// A mirror without children: `dump` and debuggers show no secrets either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
