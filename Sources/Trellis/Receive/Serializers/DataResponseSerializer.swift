public import FoundationEssentials

/// The body as it came. Any status is an answer: nothing is validated unless the request says so.
public struct DataResponseSerializer: ResponseSerializer {
    private let preprocessor: any DataPreprocessor
    private let emptyBodies: EmptyBodyRule

    /// A serializer for bytes.
    ///
    /// - Parameters:
    ///   - preprocessor: What is done to the body first; nothing unless given.
    ///   - emptyBodies: Where a body may be missing; anywhere unless given.
    public init(
        preprocessor: some DataPreprocessor = .passthrough, emptyBodies: EmptyBodyRule = .anywhere
    ) {
        self.preprocessor = preprocessor
        self.emptyBodies = emptyBodies
    }

    /// Nothing is checked.
    public var validatesByDefault: Bool { false }

    /// The body.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization`` for an empty body where the rule allows none;
    ///   what the preprocessor throws.
    public func serialize(request: Request, response: Response, data: Data) throws -> Data {
        try emptyBodies.check(Answer(request: request, response: response, body: data), type: "Data")
        return try preprocessor.preprocess(data)
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// The body as it came.
    public static var data: DataResponseSerializer { DataResponseSerializer() }
}
