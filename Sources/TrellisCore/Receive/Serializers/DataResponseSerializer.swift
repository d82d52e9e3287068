public import FoundationEssentials

/// A serializer that returns the body as it was received. Any status is accepted: nothing is validated unless the request says so.
public struct DataResponseSerializer: ResponseSerializer {
    private let preprocessor: any DataPreprocessor
    private let emptyBodies: EmptyBodyRule

    /// Creates a serializer for bytes.
    ///
    /// - Parameters:
    ///   - preprocessor: The transformation of the body; none unless given.
    ///   - emptyBodies: The responses that may have no body; all unless given.
    public init(
        preprocessor: some DataPreprocessor = .passthrough, emptyBodies: EmptyBodyRule = .always
    ) {
        self.preprocessor = preprocessor
        self.emptyBodies = emptyBodies
    }

    /// Whether the status and the content type are checked by default: always `false`.
    public var validatesByDefault: Bool { false }

    /// Returns the body.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization`` for an empty body that the rule does not allow;
    ///   the error that the preprocessor throws.
    public func serialize(request: Request, response: Response, data: Data) throws -> Data {
        try emptyBodies.check(Answer(request: request, response: response, body: data), type: "Data")
        return try preprocessor.preprocess(data)
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// A serializer that returns the body as it was received.
    public static var data: DataResponseSerializer { DataResponseSerializer() }
}
