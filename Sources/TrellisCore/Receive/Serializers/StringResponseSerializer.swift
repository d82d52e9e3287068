public import FoundationEssentials

/// A serializer that returns the body as text.
///
/// The encoding is the requested one; otherwise, the first of these in which the bytes are text: the encoding of a byte order
/// mark, the `charset` of the response, in `text/html` the one of a `<meta>` element in the first 1,024 bytes (WHATWG HTML, section
/// 13.2.3), UTF-8, and windows-1252, in which any bytes are text. A byte order mark is not part of the text.
///
/// The encodings of the WHATWG Encoding Standard are supported under its labels, by which ISO-8859-1 is windows-1252, and UTF-32. The C
/// library converts the legacy ones, such as GBK, Shift_JIS and windows-1251, with U+FFFD for each byte that begins no character. Another
/// `charset` is an error unless there is a byte order mark: in any other encoding the text would be another one.
public struct StringResponseSerializer: ResponseSerializer {
    private let encoding: String.Encoding?
    private let preprocessor: any DataPreprocessor
    private let emptyBodies: EmptyBodyRule

    /// Creates a serializer for text.
    ///
    /// - Parameters:
    ///   - encoding: The encoding, regardless of the response; found as described above unless given.
    ///   - preprocessor: The transformation of the body; none unless given.
    ///   - emptyBodies: The responses that may have no body, which is the empty text; all unless given.
    public init(
        encoding: String.Encoding? = nil, preprocessor: some DataPreprocessor = .passthrough,
        emptyBodies: EmptyBodyRule = .always
    ) {
        self.encoding = encoding
        self.preprocessor = preprocessor
        self.emptyBodies = emptyBodies
    }

    /// Returns the text.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization`` if the bytes are not text in the requested encoding,
    ///   if the `charset` of the response is not supported, and for an empty body that the rule does not allow; the error that the
    ///   preprocessor throws.
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
        let type = response.headers[.contentType].flatMap { MediaType($0) }
        let charset = type?.charset ?? (type?.essence == "text/html" ? HTMLCharset.label(in: data) : nil)
        if let text = TextDecoding.text(data, charset: charset) { return text }
        throw answer.error(.serializationFailed(.text(encoding: charset ?? "")))
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// A serializer that returns the body as text, in the encoding of the response.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// Returns a serializer that returns the body as text in an encoding, regardless of the response.
    public static func string(encoding: String.Encoding) -> StringResponseSerializer {
        StringResponseSerializer(encoding: encoding)
    }
}
