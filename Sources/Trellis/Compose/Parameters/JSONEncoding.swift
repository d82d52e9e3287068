public import FoundationEssentials

/// Sends a dictionary as a JSON body.
///
/// Values that are nested in more than 512 dictionaries and arrays are an error.
public struct JSONEncoding: ParameterEncoding {
    /// With a `JSONEncoder` as it comes.
    public static let `default` = JSONEncoding()

    /// What makes the body.
    public let encoder: JSONParameterEncoder

    /// With a `JSONEncoder`, for dates, keys and formatting of your choice. Don't change it afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) { self.encoder = JSONParameterEncoder(encoder: encoder) }

    fileprivate init(_ encoder: JSONParameterEncoder) { self.encoder = encoder }

    /// Makes the parameters the body of the request.
    public func encode(_ parameters: [String: any Sendable], into request: inout Request) throws {
        try encoder.encode(DynamicParameters(parameters), into: &request)
    }
}

extension ParameterEncoding where Self == JSONEncoding {
    /// A JSON body.
    public static var json: JSONEncoding { .default }

    /// A JSON body, for people to read.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(.prettyPrinted) }

    /// A JSON body, its keys in order: the same parameters are the same bytes.
    public static var sortedKeys: JSONEncoding { JSONEncoding(.sortedKeys) }
}
