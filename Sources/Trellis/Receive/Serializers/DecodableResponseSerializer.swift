public import FoundationEssentials

/// The body as a `Decodable` value.
///
/// An empty body has a value where its rule allows it and the type has one: see ``EmptyResponse``.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    private let decoder: any DataDecoder
    private let preprocessor: any DataPreprocessor
    private let emptyBodies: EmptyBodyRule

    /// A serializer for a type.
    ///
    /// - Parameters:
    ///   - type: The type.
    ///   - decoder: What decodes; a `JSONDecoder` unless given.
    ///   - preprocessor: What is done to the body first; nothing unless given.
    ///   - emptyBodies: Where a body may be missing; after `HEAD` and with a status of 204 or 205 unless given.
    public init(
        _ type: Value.Type = Value.self, decoder: some DataDecoder = .json,
        preprocessor: some DataPreprocessor = .passthrough, emptyBodies: EmptyBodyRule = .standard
    ) {
        self.decoder = decoder
        self.preprocessor = preprocessor
        self.emptyBodies = emptyBodies
    }

    /// The value.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization``, whose ``TrellisError/underlying`` is what the
    ///   decoder threw; what the preprocessor throws.
    public func serialize(request: Request, response: Response, data: Data) throws -> Value {
        let answer = Answer(request: request, response: response, body: data)
        guard !data.isEmpty else { return try emptyValue(of: answer) }
        let data = try preprocessor.preprocess(data)
        do {
            return try decoder.decode(Value.self, from: data)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let why = (error as? DecodingError)?.reason ?? "\(error)"
            throw answer.error(.serializationFailed(.decoding(type: "\(Value.self)", why: why)), underlying: error)
        }
    }

    private func emptyValue(of answer: Answer) throws -> Value {
        try emptyBodies.check(answer, type: "\(Value.self)")
        guard let value = (Value.self as? any EmptyResponse.Type)?.emptyValue() as? Value else {
            throw answer.error(.serializationFailed(.emptyBody(type: "\(Value.self)")))
        }
        return value
    }
}

extension ResponseSerializer {
    /// The body as a `Decodable` value.
    public static func decodable<Decoded>(
        _ type: Decoded.Type, decoder: some DataDecoder = .json, preprocessor: some DataPreprocessor = .passthrough,
        emptyBodies: EmptyBodyRule = .standard
    ) -> Self where Self == DecodableResponseSerializer<Decoded> {
        DecodableResponseSerializer(type, decoder: decoder, preprocessor: preprocessor, emptyBodies: emptyBodies)
    }
}
