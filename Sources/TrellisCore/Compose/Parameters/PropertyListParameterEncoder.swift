public import FoundationEssentials

/// An encoder that sends parameters as a body with a property list, of the type `application/x-plist`.
///
/// The body is written for any method: choose a method that has a body. Property lists have no `null`: parameters that are `nil`
/// are best left out.
public struct PropertyListParameterEncoder: ParameterEncoder {
    /// An encoder that writes XML.
    public static let `default` = PropertyListParameterEncoder()

    /// The encoder that makes the property list.
    public let encoder: PropertyListEncoder

    /// Creates an encoder that writes XML.
    public init() {
        encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
    }

    /// Creates an encoder with a `PropertyListEncoder`, for another format. A new `PropertyListEncoder` writes binary property
    /// lists. Do not change it afterwards.
    public init(encoder: PropertyListEncoder) { self.encoder = encoder }

    /// Replaces the body of the request with the encoded parameters.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a value cannot be encoded.
    public func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws {
        request.body = try .encoded(as: RequestBody.propertyListType, for: request) { try encoder.encode(parameters) }
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// The encoder for a body with a property list, as XML.
    public static var propertyList: PropertyListParameterEncoder { .default }

    /// Returns an encoder for a body with a property list that uses a `PropertyListEncoder` of your own.
    public static func propertyList(encoder: PropertyListEncoder) -> PropertyListParameterEncoder {
        PropertyListParameterEncoder(encoder: encoder)
    }
}
