public import FoundationEssentials

/// Sends parameters as a JSON body (RFC 8259), with the type `application/json`.
///
/// The body is written with any method: choose one that has a body. How deep parameters may be nested is up to `JSONEncoder`,
/// which has no limit but the thread's stack, some thousand levels.
public struct JSONParameterEncoder: ParameterEncoder {
    /// With a `JSONEncoder` as it comes.
    public static let `default` = JSONParameterEncoder()

    /// What makes the JSON.
    public let encoder: JSONEncoder

    /// With a `JSONEncoder`, for dates, keys and formatting of your choice. Don't change it afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) { self.encoder = encoder }

    init(_ formatting: JSONEncoder.OutputFormatting) {
        encoder = JSONEncoder()
        encoder.outputFormatting = formatting
    }

    /// Makes the parameters the body of the request.
    public func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws {
        do {
            request.body = .data(try encoder.encode(parameters), contentType: "application/json")
        } catch {
            throw TrellisError.parameters(error, request)
        }
    }

    fileprivate static let pretty = JSONParameterEncoder(.prettyPrinted)
    fileprivate static let sorted = JSONParameterEncoder(.sortedKeys)
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// A JSON body.
    public static var json: JSONParameterEncoder { .default }

    /// A JSON body, for people to read.
    public static var prettyPrinted: JSONParameterEncoder { .pretty }

    /// A JSON body, its keys in order: the same parameters are the same bytes.
    public static var sortedKeys: JSONParameterEncoder { .sorted }

    /// A JSON body from an encoder of your own.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder { JSONParameterEncoder(encoder: encoder) }
}
