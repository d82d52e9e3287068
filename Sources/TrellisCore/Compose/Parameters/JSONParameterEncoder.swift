public import FoundationEssentials

/// An encoder that sends parameters as a JSON body (RFC 8259) of the type `application/json`.
///
/// The body is written for any method: choose a method that has a body. The nesting depth of parameters is limited only by
/// `JSONEncoder`, and there only by the thread's stack, to some thousand levels.
public struct JSONParameterEncoder: ParameterEncoder {
    /// An encoder with a `JSONEncoder` in its default configuration.
    public static let `default` = JSONParameterEncoder()

    /// The encoder that makes the JSON.
    public let encoder: JSONEncoder

    /// Creates an encoder with a `JSONEncoder`, for dates, keys and formatting of your choice. Do not change the `JSONEncoder`
    /// afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) { self.encoder = encoder }

    init(_ formatting: JSONEncoder.OutputFormatting) {
        encoder = JSONEncoder()
        encoder.outputFormatting = formatting
    }

    /// Replaces the body of the request with the encoded parameters.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a value cannot be encoded.
    public func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws {
        request.body = try .encoded(as: RequestBody.jsonType, for: request) { try encoder.encode(parameters) }
    }

    fileprivate static let pretty = JSONParameterEncoder(.prettyPrinted)
    fileprivate static let sorted = JSONParameterEncoder(.sortedKeys)
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// The encoder for a JSON body.
    public static var json: JSONParameterEncoder { .default }

    /// The encoder for a JSON body that is formatted for people to read.
    public static var prettyPrinted: JSONParameterEncoder { .pretty }

    /// The encoder for a JSON body with sorted keys: the same parameters give the same bytes.
    public static var sortedKeys: JSONParameterEncoder { .sorted }

    /// Returns an encoder for a JSON body that uses a `JSONEncoder` of your own.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder { JSONParameterEncoder(encoder: encoder) }
}
