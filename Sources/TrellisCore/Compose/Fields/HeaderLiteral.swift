public import HTTPTypes

/// The fields of a request as a literal: by names that are text, or as a list of fields.
///
/// ```swift
/// try await session.data(url, headers: ["X-Trace": "1", "Accept": "application/json"])
/// try await session.data(url, headers: [.accept("application/json"), .authorization(bearerToken: token)])
/// ```
///
/// Names that are repeated are sent repeatedly. A name that is not a token (RFC 9110, section 5.1) makes sending the request an error of
/// kind ``TrellisError/Kind/invalidRequest``. ``Request``, every verb, every handle and the parts of forms take this type beside
/// `HTTPFields`, whose literals have typed names: `[.accept: "application/json"]`.
public struct HeaderLiteral: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, Sendable {
    /// The fields.
    public let fields: HTTPFields

    /// Creates fields from names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        var fields = HTTPFields()
        for (name, value) in elements { fields.append(name, value) }
        self.fields = fields
    }

    /// Creates fields from a list.
    public init(arrayLiteral elements: HTTPField...) { fields = HTTPFields(elements) }
}
