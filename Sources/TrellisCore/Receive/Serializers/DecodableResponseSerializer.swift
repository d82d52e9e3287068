public import FoundationEssentials

/// A serializer that decodes the body as a `Decodable` value.
///
/// An empty body has a value if the rule allows an empty body and the type has a value for it: see ``EmptyResponse``.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    private let decoder: any DataDecoder
    private let preprocessor: any DataPreprocessor
    private let emptyBodies: EmptyBodyRule

    /// Creates a serializer for a type.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder; a `JSONDecoder` unless given.
    ///   - preprocessor: The transformation of the body; none unless given.
    ///   - emptyBodies: The responses that may have no body: after `HEAD` and with a status of 204 or 205 unless given.
    public init(
        _ type: Value.Type = Value.self, decoder: some DataDecoder = .json,
        preprocessor: some DataPreprocessor = .passthrough, emptyBodies: EmptyBodyRule = .standard
    ) {
        self.decoder = decoder
        self.preprocessor = preprocessor
        self.emptyBodies = emptyBodies
    }

    /// Returns the decoded value.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization``, whose ``TrellisError/underlying`` is the error that
    ///   the decoder threw; the error that the preprocessor throws.
    public func serialize(request: Request, response: Response, data: Data) throws -> Value {
        let answer = Answer(request: request, response: response, body: data)
        guard !data.isEmpty else { return try emptyValue(of: answer) }
        let data = try preprocessor.preprocess(data)
        do {
            return try decoder.value(from: data)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let reason = (error as? DecodingError)?.reason ?? "\(error)"
            throw answer.error(
                .serializationFailed(.decoding(type: "\(Value.self)", reason: reason)), underlying: error)
        }
    }

    /// Returns the value of an empty body.
    private func emptyValue(of answer: Answer) throws -> Value {
        try emptyBodies.check(answer, type: "\(Value.self)")
        guard let value = (Value.self as? any EmptyResponse.Type)?.emptyValue() as? Value else {
            throw answer.error(.serializationFailed(.emptyBody(type: "\(Value.self)")))
        }
        return value
    }
}

extension ResponseSerializer {
    /// Returns a serializer that decodes the body as a `Decodable` value.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder; JSON by default.
    ///   - preprocessor: A change of the bytes before they are decoded; none by default.
    ///   - emptyBodies: The responses that may have no body.
    public static func decodable<Decoded>(
        _ type: Decoded.Type, decoder: some DataDecoder = .json, preprocessor: some DataPreprocessor = .passthrough,
        emptyBodies: EmptyBodyRule = .standard
    ) -> Self where Self == DecodableResponseSerializer<Decoded> {
        DecodableResponseSerializer(type, decoder: decoder, preprocessor: preprocessor, emptyBodies: emptyBodies)
    }
}

/// A decoder that makes values of bytes: `JSONDecoder`, `PropertyListDecoder`, or a decoder for another format.
public protocol DataDecoder: Sendable {
    /// Returns the value that the bytes represent.
    ///
    /// - Throws: Any error, which becomes the ``TrellisError/underlying`` of one of kind ``TrellisError/Kind/serialization``.
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

extension DecodingError {
    /// The failure and its coding path, in few words.
    var reason: String {
        let (context, key): (Context, (any CodingKey)?) =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                (context, nil)
            case .keyNotFound(let key, let context): (context, key)
            @unknown default: (Context(codingPath: [], debugDescription: "\(self)"), nil)
            }
        let what = key.map { "there is no \"\($0.stringValue)\"" } ?? context.debugDescription
        let path = context.codingPath.reduce(into: "") { path, key in
            path += key.intValue.map { "[\($0)]" } ?? (path.isEmpty ? key.stringValue : ".\(key.stringValue)")
        }
        return path.isEmpty ? what : "at \(path): \(what)"
    }
}
