/// An encoder that writes values as `application/x-www-form-urlencoded` text (WHATWG URL standard, section 5): pairs of names and
/// values.
///
/// ```swift
/// struct Search: Encodable { var term: String; var tags: [String]; var page: Int? }
/// try URLEncodedFormEncoder().encode(Search(term: "a b", tags: ["x", "y"]))   // tags%5B%5D=x&tags%5B%5D=y&term=a%20b
/// ```
///
/// - The value must have keys: a structure or a dictionary. A value that encodes nothing, and `nil`, become an empty text.
/// - All features of `Encodable` are supported: nested objects and arrays, super encoders, `RawRepresentable`, dictionaries with
///   keys of type `String`, `Int` or `CodingKeyRepresentable`. A dictionary with numbers for keys stays a dictionary. A
///   dictionary with other keys encodes itself as an array of keys and values in turn, as everywhere in Swift.
/// - Optional members in encoding code that the compiler generates are subject to ``nilEncoding``, even if they are `nil`.
/// - `URL` is written as its text, `Decimal` as its digits. Numbers are written as Swift describes them: `1.0`, `1e+20`, `nan`.
/// - Values that are nested in more than ``maximumDepth`` objects and arrays are an error.
public struct URLEncodedFormEncoder: Sendable {
    /// The deepest nesting of objects and arrays: 100 levels, more than servers read.
    public static let maximumDepth = 100

    /// Whether the keys of each object are sorted by their Unicode scalars; `true` by default. Keys are compared as
    /// written after ``keyEncoding``, and equal written keys by their original spelling. If `false`, the keys keep the order in
    /// which the value writes them, which for a dictionary differs in every process. The elements of arrays keep their order in
    /// any case.
    public var alphabetizeKeyValuePairs: Bool
    /// The naming of array elements; ``ArrayEncoding/brackets`` by default.
    public var arrayEncoding: ArrayEncoding
    /// The treatment of an empty array; ``EmptyArrayEncoding/bareBrackets`` by default.
    public var emptyArrayEncoding: EmptyArrayEncoding
    /// The text form of `Bool`; ``BoolEncoding/numeric`` by default.
    public var boolEncoding: BoolEncoding
    /// The text form of `Data`; ``DataEncoding/base64`` by default.
    public var dataEncoding: DataEncoding
    /// The text form of `Date`; ``DateEncoding/deferredToDate`` by default.
    public var dateEncoding: DateEncoding
    /// The spelling of each key; ``KeyEncoding/useDefaultKeys`` by default.
    public var keyEncoding: KeyEncoding
    /// The naming of an object's members; ``KeyPathEncoding/brackets`` by default.
    public var keyPathEncoding: KeyPathEncoding
    /// The treatment of `nil`; ``NilEncoding/dropKey`` by default.
    public var nilEncoding: NilEncoding
    /// The encoding of spaces; ``SpaceEncoding/percentEscaped`` by default.
    public var spaceEncoding: SpaceEncoding
    /// The characters that are not percent-encoded; ``AllowedCharacters/default`` by default.
    public var allowedCharacters: AllowedCharacters
    /// The `userInfo` of the encoder that is passed to the values' own `encode(to:)`; empty by default.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates an encoder.
    public init(
        alphabetizeKeyValuePairs: Bool = true, arrayEncoding: ArrayEncoding = .brackets,
        emptyArrayEncoding: EmptyArrayEncoding = .bareBrackets, boolEncoding: BoolEncoding = .numeric,
        dataEncoding: DataEncoding = .base64, dateEncoding: DateEncoding = .deferredToDate,
        keyEncoding: KeyEncoding = .useDefaultKeys, keyPathEncoding: KeyPathEncoding = .brackets,
        nilEncoding: NilEncoding = .dropKey, spaceEncoding: SpaceEncoding = .percentEscaped,
        allowedCharacters: AllowedCharacters = .default
    ) {
        self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
        self.arrayEncoding = arrayEncoding
        self.emptyArrayEncoding = emptyArrayEncoding
        self.boolEncoding = boolEncoding
        self.dataEncoding = dataEncoding
        self.dateEncoding = dateEncoding
        self.keyEncoding = keyEncoding
        self.keyPathEncoding = keyPathEncoding
        self.nilEncoding = nilEncoding
        self.spaceEncoding = spaceEncoding
        self.allowedCharacters = allowedCharacters
    }

    /// Returns a value as a URL-encoded form: ASCII text without a leading `?`.
    ///
    /// - Throws: `EncodingError` with the coding path, or the error that the value's own `encode(to:)` throws.
    public func encode(_ value: some Encodable) throws -> String {
        let context = FormContext(self)
        let root = FormNode()
        try FormValueEncoder(node: root, context: context, codingPath: [], depth: 0).write(value)
        switch root.kind {
        case .object, .null, .unset: break
        case .text, .array:
            throw EncodingError.invalidValue(
                type(of: value), .init(codingPath: [], debugDescription: "a form is made of keys and values"))
        }
        var writer = FormWriter(self)
        writer.write(root)
        return writer.text
    }
}
