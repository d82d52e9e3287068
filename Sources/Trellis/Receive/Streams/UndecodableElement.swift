public import FoundationEssentials

/// An element of a stream that could not be decoded.
///
/// It is the ``TrellisError/underlying`` of the error that ends the stream, and what a handler gets that wants to go on.
public struct UndecodableElement: Error, Sendable {
    /// What is counted.
    public enum Unit: String, Sendable, Hashable {
        /// Lines of the body, blank ones too.
        case line
        /// Texts of a sequence (RFC 7464), empty ones not.
        case text
    }

    /// What ``number`` counts.
    public let unit: Unit
    /// Which one it is, from 1 on.
    public let number: Int
    /// The bytes of the element.
    public let bytes: Data
    /// What the decoder threw.
    public let cause: any Error
}

extension UndecodableElement: CustomStringConvertible {
    /// Which one it is, and what the decoder said.
    public var description: String { "\(unit.rawValue) \(number) cannot be decoded: \(cause)" }
}

/// What to do with an element that cannot be decoded: throw to end the stream with that error, or return to go on without
/// the element.
public typealias UndecodableElementHandler = @Sendable (UndecodableElement) throws -> Void
