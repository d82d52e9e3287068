import CurlEngine
public import HTTPTypes

extension HTTPFields {
    /// The value of the fields with a name that is given as text, beside names such as `.accept`:
    ///
    /// ```swift
    /// request.headers["X-API-Key"] = key
    /// let id = response.headers["X-Request-ID"]
    /// ```
    ///
    /// The name is case-insensitive. The values of several fields with the name are joined with commas; setting a value replaces
    /// all of them, and setting `nil` removes them.
    ///
    /// A name that is not a token (RFC 9110, section 5.1), such as one with a blank, has no value. Setting one makes sending the
    /// request an error of kind ``Trellis/TrellisError/Kind/invalidRequest`` that names it, until it is set to `nil`.
    public subscript(_ name: String) -> String? {
        get { HTTPField.Name(ofField: name).flatMap { self[$0] } }
        set {
            guard let valid = HTTPField.Name(ofField: name) else {
                return note(invalidName: name, isSet: newValue != nil)
            }
            self[valid] = newValue
        }
    }

    /// Adds a field whose name is given as text after the fields of the same name.
    mutating func append(_ name: String, _ value: String) {
        guard let valid = HTTPField.Name(ofField: name) else { return note(invalidName: name, isSet: true) }
        append(HTTPField(name: valid, value: value))
    }

    /// The first invalid name that was set; `nil` if all names are valid.
    package var invalidName: String? {
        guard let field = first(where: { $0.isInvalidNameMark }) else { return nil }
        return URLRedaction.decoded(field.value[...])
    }

    /// The fields without the marks of invalid names.
    package var withoutInvalidNames: HTTPFields {
        contains(where: { $0.isInvalidNameMark }) ? HTTPFields(filter { !$0.isInvalidNameMark }) : self
    }

    /// Records an invalid name, or removes its record. The fields cannot hold the name itself, so that a field with a reserved
    /// name holds it as its value, percent-encoded.
    private mutating func note(invalidName name: String, isSet: Bool) {
        var bytes: [UInt8] = []
        URLEncodedFormEncoder.AllowedCharacters.unreserved.encode(name, space: .percentEscaped, into: &bytes)
        let encoded = String(decoding: bytes, as: UTF8.self)
        let others = self[values: .invalidNameMark].filter { $0 != encoded }
        self[values: .invalidNameMark] = isSet ? others + [encoded] : others
    }
}

extension HTTPField {
    /// Whether the field is the record of an invalid name that was set.
    var isInvalidNameMark: Bool {
        // One byte distinguishes the name from nearly every other name.
        name.canonicalName.utf8.first == UInt8(ascii: "~") && name == .invalidNameMark
    }
}

extension HTTPField.Name {
    /// The reserved name of the fields that stand for invalid names. The text is a token, so the fallback is never used.
    fileprivate static let invalidNameMark = HTTPField.Name("~trellis-invalid-name") ?? .te

    /// Creates a name from a text; `nil` if the text is not a token, or is the reserved name.
    init?(ofField text: String) {
        // A name with a colon in front is a pseudo field, which is not a field.
        guard !text.hasBytePrefix(":"), let name = HTTPField.Name(text), name != .invalidNameMark else { return nil }
        self = name
    }
}

extension TrellisError {
    /// Returns the error for a field whose name is not a token, or is the name that is reserved for the marks of such fields.
    package static func invalidFieldName(_ name: String, _ request: Request? = nil) -> TrellisError {
        var error = TrellisError(
            .invalidRequest(.headerField(name)), method: request?.method, url: request?.url)
        error.detail = "its name is not a token"
        return error
    }
}
