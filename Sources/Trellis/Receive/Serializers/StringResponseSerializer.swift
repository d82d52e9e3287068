public import FoundationEssentials

/// The body as text.
///
/// The encoding is the one that was asked for; else the first of these in which the bytes are text: that of a byte order
/// mark, the `charset` of the response, UTF-8, and ISO-8859-1, in which any bytes are. A byte order mark is not part of the
/// text.
public struct StringResponseSerializer: ResponseSerializer {
    private let encoding: String.Encoding?
    private let preprocessor: any DataPreprocessor
    private let emptyBodies: EmptyBodyRule

    /// A serializer for text.
    ///
    /// - Parameters:
    ///   - encoding: The encoding, whatever the response says; found as described above unless given.
    ///   - preprocessor: What is done to the body first; nothing unless given.
    ///   - emptyBodies: Where a body may be missing, which is the empty text; anywhere unless given.
    public init(
        encoding: String.Encoding? = nil, preprocessor: some DataPreprocessor = .passthrough,
        emptyBodies: EmptyBodyRule = .anywhere
    ) {
        self.encoding = encoding
        self.preprocessor = preprocessor
        self.emptyBodies = emptyBodies
    }

    /// The text.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization`` where the bytes are no text in the encoding that
    ///   was asked for, and for an empty body where the rule allows none; what the preprocessor throws.
    public func serialize(request: Request, response: Response, data: Data) throws -> String {
        let answer = Answer(request: request, response: response, body: data)
        guard !data.isEmpty else {
            try emptyBodies.check(answer, type: "String")
            return ""
        }
        let data = try preprocessor.preprocess(data)
        if let encoding {
            if let text = TextDecoding.text(data, in: encoding) { return text }
            throw answer.error(.serializationFailed(.text(encoding: "\(encoding)")))
        }
        let type = response.headerFields[.contentType].flatMap { MediaType($0) }
        return TextDecoding.text(data, charset: type?.charset)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// The body as text, in the encoding that the response says.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// The body as text in an encoding, whatever the response says.
    public static func string(encoding: String.Encoding) -> StringResponseSerializer {
        StringResponseSerializer(encoding: encoding)
    }
}
