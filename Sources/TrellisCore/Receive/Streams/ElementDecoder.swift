import FoundationEssentials

/// An element of a stream as it was received, before decoding.
struct RawElement: Equatable, Sendable {
    /// The unit that ``number`` counts.
    let unit: UndecodableElement.Unit
    /// The number of the element in its stream, from 1 on.
    let number: Int
    let bytes: Data
}

/// A decoder of the elements of a stream, with a handler for elements that cannot be decoded.
struct ElementDecoder<Value>: Sendable {
    private let decode: @Sendable (Data) throws -> Value
    private let whenUndecodable: UndecodableElementHandler?

    init(whenUndecodable: UndecodableElementHandler?, _ decode: @escaping @Sendable (Data) throws -> Value) {
        self.whenUndecodable = whenUndecodable
        self.decode = decode
    }

    /// Returns the value of an element; `nil` if the handler leaves the element out.
    ///
    /// - Throws: ``TrellisError`` for an element that cannot be decoded if there is no handler; the error that the handler throws.
    func decode(_ element: RawElement) throws -> Value? {
        do {
            return try decode(element.bytes)
        } catch {
            let element = UndecodableElement(
                unit: element.unit, number: element.number, bytes: element.bytes, cause: error)
            guard let whenUndecodable else { throw TrellisError.undecodable(element, as: "\(Value.self)") }
            try whenUndecodable(element)
            return nil
        }
    }
}

extension ElementDecoder where Value: Decodable & Sendable {
    init(_ decoder: JSONDecoder, whenUndecodable: UndecodableElementHandler?) {
        self.init(whenUndecodable: whenUndecodable) { try decoder.value(from: $0) }
    }
}
