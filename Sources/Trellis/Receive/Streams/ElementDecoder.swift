import CurlEngine
import FoundationEssentials

/// Decodes the elements of a stream and knows what to do with those that cannot be.
struct ElementDecoder<Value>: Sendable {
    private let decode: @Sendable (Data) throws -> Value
    private let whenUndecodable: UndecodableElementHandler?

    init(whenUndecodable: UndecodableElementHandler?, _ decode: @escaping @Sendable (Data) throws -> Value) {
        self.whenUndecodable = whenUndecodable
        self.decode = decode
    }

    /// The value; `nil` for one that is to be left out.
    func decode(_ bytes: Span<UInt8>, _ unit: UndecodableElement.Unit, number: Int) throws -> Value? {
        let data = Data(copying: bytes)
        do {
            return try decode(data)
        } catch {
            let element = UndecodableElement(unit: unit, number: number, bytes: data, cause: error)
            guard let whenUndecodable else { throw TrellisError.undecodable(element) }
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

extension Span<UInt8> {
    /// Whether all bytes are white space of JSON (RFC 8259, section 2).
    var isBlankJSON: Bool {
        for offset in 0..<count where !self[offset].isBlankJSON { return false }
        return true
    }
}

extension UInt8 {
    /// White space of JSON: space, tab, LF, CR.
    var isBlankJSON: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
