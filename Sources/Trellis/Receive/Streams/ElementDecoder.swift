import FoundationEssentials

/// An element of a stream as it came.
struct RawElement: Equatable, Sendable {
    let unit: UndecodableElement.Unit
    /// Which one it is, from 1 on.
    let number: Int
    let bytes: Data
}

/// Decodes the elements of a stream and knows what to do with those that cannot be.
struct ElementDecoder<Value>: Sendable {
    private let decode: @Sendable (Data) throws -> Value
    private let whenUndecodable: UndecodableElementHandler?

    init(whenUndecodable: UndecodableElementHandler?, _ decode: @escaping @Sendable (Data) throws -> Value) {
        self.whenUndecodable = whenUndecodable
        self.decode = decode
    }

    /// The value; `nil` for one that is to be left out.
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
        self.init(whenUndecodable: whenUndecodable) { try decoder.decode(Value.self, from: $0) }
    }
}
