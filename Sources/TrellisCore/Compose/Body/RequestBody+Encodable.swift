public import FoundationEssentials

/// Bodies of values, each with its content type. ``ParameterEncoder`` does the same for the arguments of a session's verbs.
///
/// ```swift
/// let request = Request(url, method: .post, body: try .json(newUser))
/// form.append(try .json(details), withName: "details")
/// ```
extension RequestBody {
    /// The type of JSON (RFC 8259, section 11).
    static let jsonType = "application/json"
    /// The type of a URL-encoded form.
    static let formType = "application/x-www-form-urlencoded; charset=utf-8"
    /// The type of a property list, as Alamofire sends it.
    static let propertyListType = "application/x-plist"

    /// Returns a body with a value as JSON (RFC 8259), of the type `application/json`.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder that makes the JSON; one in its default configuration by default.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` with the reason
    ///   ``TrellisError/InvalidRequest/parameters(_:)``, whose ``TrellisError/underlying`` is the encoder's error.
    public static func json(
        _ value: some Encodable & Sendable, encoder: JSONEncoder = JSONEncoder()
    ) throws(TrellisError) -> RequestBody {
        try encoded(as: jsonType) { try encoder.encode(value) }
    }

    /// Returns a body with names and values as a form, in this order. Its type is `application/x-www-form-urlencoded; charset=utf-8`. A
    /// name may be repeated:
    ///
    /// ```swift
    /// let body = RequestBody.form(["grant_type": "client_credentials", "scope": "read", "scope": "write"])
    /// ```
    public static func form(_ items: KeyValuePairs<String, String>) -> RequestBody {
        .data(Data(URLQuery.pairs(items).utf8), contentType: formType)
    }

    /// Returns a body with a value as a form, of the type `application/x-www-form-urlencoded; charset=utf-8`.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder that makes the form; one with the default options by default.
    /// - Throws: As in ``json(_:encoder:)``.
    @_disfavoredOverload
    public static func form(
        _ value: some Encodable & Sendable, encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
    ) throws(TrellisError) -> RequestBody {
        try encoded(as: formType) { Data(try encoder.encode(value).utf8) }
    }

    /// Returns a body with a value as a property list, of the type `application/x-plist`.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder that makes the property list; one that writes XML by default.
    /// - Throws: As in ``json(_:encoder:)``.
    public static func propertyList(
        _ value: some Encodable & Sendable, encoder: PropertyListEncoder = PropertyListParameterEncoder.default.encoder
    ) throws(TrellisError) -> RequestBody {
        try encoded(as: propertyListType) { try encoder.encode(value) }
    }

    /// Returns a body of a type, whose bytes an encoder makes.
    ///
    /// - Parameter request: The request that the error names, if any.
    static func encoded(
        as type: String, for request: Request? = nil, _ encode: () throws -> Data
    ) throws(TrellisError) -> RequestBody {
        do { return .data(try encode(), contentType: type) } catch { throw TrellisError.parameters(error, request) }
    }
}
