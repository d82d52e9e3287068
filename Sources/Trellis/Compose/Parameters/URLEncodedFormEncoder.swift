/// Writes values as `application/x-www-form-urlencoded` text (WHATWG URL standard, section 5): names and values in pairs.
///
/// ```swift
/// struct Search: Encodable { var term: String; var tags: [String]; var page: Int? }
/// try URLEncodedFormEncoder().encode(Search(term: "a b", tags: ["x", "y"]))   // tags%5B%5D=x&tags%5B%5D=y&term=a%20b
/// ```
///
/// - The value must have keys: a structure or a dictionary. One that writes nothing, and `nil`, become an empty text.
/// - Everything `Encodable` does is there: nested objects and arrays, super encoders, `RawRepresentable`, dictionaries with
///   keys of type `String`, `Int` or `CodingKeyRepresentable`. A dictionary with numbers for keys stays a dictionary. One
///   with other keys encodes itself as an array of keys and values in turn, as everywhere in Swift.
/// - Optional members that the compiler writes out are subject to ``nilEncoding``, even if they are `nil`.
/// - `URL` is its text, `Decimal` its digits. Numbers are written as Swift describes them: `1.0`, `1e+20`, `nan`.
/// - Values that are nested in more than ``maximumDepth`` objects and arrays are an error.
public struct URLEncodedFormEncoder: Sendable {
    /// How deep objects and arrays may be nested in each other: 100, more than servers read.
    public static let maximumDepth = 100

    /// Whether the keys of each object are put in the order of their Unicode scalars, as written after ``keyEncoding``, those
    /// that become the same in their order before it; `true` unless set. Otherwise they come in the order in which the
    /// value writes them, which for a dictionary is a new one in every process. The elements of arrays keep their order in
    /// any case.
    public var alphabetizeKeyValuePairs: Bool
    /// How the elements of arrays are named, ``ArrayEncoding/brackets`` unless set.
    public var arrayEncoding: ArrayEncoding
    /// What becomes of an empty array, ``EmptyArrayEncoding/bareBrackets`` unless set.
    public var emptyArrayEncoding: EmptyArrayEncoding
    /// How `Bool` is written, ``BoolEncoding/numeric`` unless set.
    public var boolEncoding: BoolEncoding
    /// How `Data` is written, ``DataEncoding/base64`` unless set.
    public var dataEncoding: DataEncoding
    /// How `Date` is written, ``DateEncoding/deferredToDate`` unless set.
    public var dateEncoding: DateEncoding
    /// How each key is written, ``KeyEncoding/useDefaultKeys`` unless set.
    public var keyEncoding: KeyEncoding
    /// How keys are put together, ``KeyPathEncoding/brackets`` unless set.
    public var keyPathEncoding: KeyPathEncoding
    /// What becomes of `nil`, ``NilEncoding/dropKey`` unless set.
    public var nilEncoding: NilEncoding
    /// How spaces are written, ``SpaceEncoding/percentEscaped`` unless set.
    public var spaceEncoding: SpaceEncoding
    /// What is not percent-encoded, ``AllowedCharacters/default`` unless set.
    public var allowedCharacters: AllowedCharacters
    /// What the values' own `encode(to:)` finds in the encoder; nothing unless set.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// An encoder.
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

    /// The text of a value: ASCII, without a leading `?`.
    ///
    /// - Throws: `EncodingError` with the coding path; what the value's own `encode(to:)` throws.
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
