public import FoundationEssentials

/// An element of a stream that could not be decoded.
///
/// The element is the ``TrellisError/underlying`` of the error that ends the stream, and the argument of a handler, which may
/// continue the stream.
public struct UndecodableElement: Error, Sendable {
    /// The unit in which elements are counted.
    public enum Unit: String, Sendable, Hashable {
        /// The lines of the body, including blank ones.
        case line
        /// The texts of a sequence (RFC 7464), without empty ones.
        case text
        /// The events of a stream, including the one that ends it.
        case event
    }

    /// The unit that ``number`` counts.
    public let unit: Unit
    /// The number of the element, from 1 on.
    public let number: Int
    /// The bytes of the element.
    public let bytes: Data
    /// The error that the decoder threw.
    public let cause: any Error
}

extension UndecodableElement: CustomStringConvertible {
    /// The unit and number of the element, and the error of the decoder.
    public var description: String { "\(unit.rawValue) \(number) cannot be decoded: \(cause)" }
}

/// A handler for an element that cannot be decoded: throw to end the stream with that error, or return to continue without the
/// element.
public typealias UndecodableElementHandler = @Sendable (UndecodableElement) throws -> Void
