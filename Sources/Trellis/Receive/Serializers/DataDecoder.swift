public import FoundationEssentials

/// A decoder that makes values of bytes: `JSONDecoder`, `PropertyListDecoder`, or a decoder for another format.
public protocol DataDecoder: Sendable {
    /// Returns the value that the bytes represent.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {}

extension DataDecoder where Self == JSONDecoder {
    /// A `JSONDecoder` with default settings.
    public static var json: JSONDecoder { JSONDecoder() }
}

extension DataDecoder where Self == PropertyListDecoder {
    /// A `PropertyListDecoder`, for XML and binary property lists.
    public static var propertyList: PropertyListDecoder { PropertyListDecoder() }
}
