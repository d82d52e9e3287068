public import FoundationEssentials

/// Makes values of bytes: `JSONDecoder`, `PropertyListDecoder`, and whatever else decodes a format.
public protocol DataDecoder: Sendable {
    /// The value that the bytes stand for.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {}

extension DataDecoder where Self == JSONDecoder {
    /// A `JSONDecoder` as it comes.
    public static var json: JSONDecoder { JSONDecoder() }
}

extension DataDecoder where Self == PropertyListDecoder {
    /// A `PropertyListDecoder`, for XML and binary property lists.
    public static var propertyList: PropertyListDecoder { PropertyListDecoder() }
}
