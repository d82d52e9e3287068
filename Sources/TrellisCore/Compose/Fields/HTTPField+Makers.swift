import FoundationEssentials
public import HTTPTypes

/// Factory methods for the fields that are used most: `[.accept("application/json"), .authorization(bearerToken: token)]`, or
/// `request.withHeader(.userAgent("backup/2.1"))`.
extension HTTPField {
    /// Returns an `Accept` field: the media types that the client accepts (RFC 9110, section 12.5.1).
    public static func accept(_ value: String) -> HTTPField { HTTPField(name: .accept, value: value) }

    /// Returns an `Accept-Charset` field: the charsets that the client accepts. Servers may ignore the field, and most do
    /// (RFC 9110, section 12.5.2).
    public static func acceptCharset(_ value: String) -> HTTPField { HTTPField(name: acceptCharsetName, value: value) }

    /// Returns an `Accept-Encoding` field: the content codings that the client accepts (RFC 9110, section 12.5.3), instead of
    /// the codings that the framework decodes (``TrellisRuntime/contentCodings``).
    public static func acceptEncoding(_ value: String) -> HTTPField { HTTPField(name: .acceptEncoding, value: value) }

    /// Returns an `Accept-Language` field: the languages that the client accepts (RFC 9110, section 12.5.4).
    public static func acceptLanguage(_ value: String) -> HTTPField { HTTPField(name: .acceptLanguage, value: value) }

    /// Returns an `Authorization` field with credentials as they are sent, scheme included (RFC 9110, section 11.6.2).
    public static func authorization(_ value: String) -> HTTPField { HTTPField(name: .authorization, value: value) }

    /// Returns an `Authorization` field with credentials for the Basic scheme, as UTF-8 (RFC 7617). The username cannot contain a
    /// colon: servers would read the text after the colon as part of the password.
    /// ``Trellis/Request/withAuthorization(username:password:)`` checks the username.
    public static func authorization(username: String, password: String) -> HTTPField {
        authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
    }

    /// Returns an `Authorization` field with a bearer token (RFC 6750, section 2.1). The field has blanks instead of control
    /// characters; ``Trellis/Request/withAuthorization(bearerToken:)`` reports control characters as an error instead.
    public static func authorization(bearerToken: String) -> HTTPField { authorization("Bearer \(bearerToken)") }

    /// Returns a `Cache-Control` field: the directives for caches (RFC 9111, section 5.2).
    public static func cacheControl(_ value: String) -> HTTPField { HTTPField(name: .cacheControl, value: value) }

    /// Returns a `Content-Disposition` field: the intended presentation of the body (RFC 6266).
    public static func contentDisposition(_ value: String) -> HTTPField {
        HTTPField(name: .contentDisposition, value: value)
    }

    /// Returns a `Content-Encoding` field: the codings that were applied to the body (RFC 9110, section 8.4).
    public static func contentEncoding(_ value: String) -> HTTPField { HTTPField(name: .contentEncoding, value: value) }

    /// Returns a `Content-Type` field: the media type of the body (RFC 9110, section 8.3).
    public static func contentType(_ value: String) -> HTTPField { HTTPField(name: .contentType, value: value) }

    /// Returns an `If-None-Match` field: the server processes the request only if none of the entity tags matches (RFC 9110,
    /// section 13.1.2).
    public static func ifNoneMatch(_ value: String) -> HTTPField { HTTPField(name: .ifNoneMatch, value: value) }

    /// Returns an `If-Match` field: the server processes the request only if one of the entity tags matches
    /// (RFC 9110, section 13.1.1).
    public static func ifMatch(_ value: String) -> HTTPField { HTTPField(name: .ifMatch, value: value) }

    /// Returns a `Range` field: the bytes from `first` to `last`, both included; to the end of the representation if `last` is
    /// `nil` (RFC 9110, section 14.2).
    public static func range(bytes first: Int64, through last: Int64? = nil) -> HTTPField {
        HTTPField(name: .range, value: "bytes=\(first)-\(last.map(String.init) ?? "")")
    }

    /// Returns a `Referer` field: the URL of the resource that led to the request (RFC 9110, section 10.1.3).
    public static func referer(_ value: String) -> HTTPField { HTTPField(name: .referer, value: value) }

    /// Returns a `User-Agent` field: the program that sends the request (RFC 9110, section 10.1.5), instead of the session's.
    public static func userAgent(_ value: String) -> HTTPField { HTTPField(name: .userAgent, value: value) }

    /// Returns a field with any name.
    ///
    /// - Returns: `nil` if `name` is not a token (RFC 9110, section 5.1).
    public static func named(_ name: String, _ value: String) -> HTTPField? {
        Name(name).map { HTTPField(name: $0, value: value) }
    }

    /// The name `Accept-Charset`. The text is a token, so the fallback is never used.
    private static let acceptCharsetName = Name("Accept-Charset") ?? .accept
}
