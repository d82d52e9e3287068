public import FoundationEssentials

/// An encoding that sends a dictionary as a JSON body.
///
/// Values that are nested in more than 512 dictionaries and arrays are an error.
public struct JSONEncoding: ParameterEncoding {
    /// An encoding with a `JSONEncoder` in its default configuration.
    public static let `default` = JSONEncoding()

    /// The encoder that makes the body.
    public let encoder: JSONParameterEncoder

    /// Creates an encoding with a `JSONEncoder`, for dates, keys and formatting of your choice. Do not change the encoder
    /// afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) { self.encoder = JSONParameterEncoder(encoder: encoder) }

    fileprivate init(_ encoder: JSONParameterEncoder) { self.encoder = encoder }

    /// Replaces the body of the request with the encoded parameters.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a value cannot be encoded.
    public func encode(_ parameters: [String: any Sendable], into request: inout Request) throws {
        try encoder.encode(DynamicParameters(parameters), into: &request)
    }
}

extension ParameterEncoding where Self == JSONEncoding {
    /// The encoding as a JSON body.
    public static var json: JSONEncoding { .default }

    /// The encoding as a JSON body that is formatted for people to read.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(.prettyPrinted) }

    /// The encoding as a JSON body with sorted keys: the same parameters give the same bytes.
    public static var sortedKeys: JSONEncoding { JSONEncoding(.sortedKeys) }
}
