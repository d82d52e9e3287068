import FoundationEssentials
public import HTTPTypes

/// Makers of the fields that are written most: `[.accept("application/json"), .authorization(bearerToken: token)]`, or
/// `request.withHeader(.userAgent("backup/2.1"))`.
extension HTTPField {
    /// The media types that are wanted (RFC 9110, section 12.5.1).
    public static func accept(_ value: String) -> HTTPField { HTTPField(name: .accept, value: value) }

    /// The charsets that are wanted. Servers may ignore it, and most do (RFC 9110, section 12.5.2).
    public static func acceptCharset(_ value: String) -> HTTPField { HTTPField(name: acceptCharsetName, value: value) }

    /// The content codings that are wanted (RFC 9110, section 12.5.3), in place of those that the running libcurl decodes.
    public static func acceptEncoding(_ value: String) -> HTTPField { HTTPField(name: .acceptEncoding, value: value) }

    /// The languages that are wanted (RFC 9110, section 12.5.4).
    public static func acceptLanguage(_ value: String) -> HTTPField { HTTPField(name: .acceptLanguage, value: value) }

    /// Credentials as they are sent, scheme included (RFC 9110, section 11.6.2).
    public static func authorization(_ value: String) -> HTTPField { HTTPField(name: .authorization, value: value) }

    /// Credentials for the Basic scheme, as UTF-8 (RFC 7617). The user's name cannot have a colon in it: what follows that
    /// would be read as part of the password. ``Trellis/Request/withAuthorization(username:password:)`` looks.
    public static func authorization(username: String, password: String) -> HTTPField {
        authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
    }

    /// A bearer token (RFC 6750, section 2.1). A field has blanks for control characters;
    /// ``Trellis/Request/withAuthorization(bearerToken:)`` makes them an error.
    public static func authorization(bearerToken: String) -> HTTPField { authorization("Bearer \(bearerToken)") }

    /// Directives for caches (RFC 9111, section 5.2).
    public static func cacheControl(_ value: String) -> HTTPField { HTTPField(name: .cacheControl, value: value) }

    /// How the body is meant to be presented (RFC 6266).
    public static func contentDisposition(_ value: String) -> HTTPField {
        HTTPField(name: .contentDisposition, value: value)
    }

    /// The codings that the body has been given (RFC 9110, section 8.4).
    public static func contentEncoding(_ value: String) -> HTTPField { HTTPField(name: .contentEncoding, value: value) }

    /// The media type of the body (RFC 9110, section 8.3).
    public static func contentType(_ value: String) -> HTTPField { HTTPField(name: .contentType, value: value) }

    /// The entity tags without which the server is to go on (RFC 9110, section 13.1.2).
    public static func ifNoneMatch(_ value: String) -> HTTPField { HTTPField(name: .ifNoneMatch, value: value) }

    /// The entity tags with which the server is to go on (RFC 9110, section 13.1.1).
    public static func ifMatch(_ value: String) -> HTTPField { HTTPField(name: .ifMatch, value: value) }

    /// The bytes from the first to the last, both included; to the end if there is no last (RFC 9110, section 14.2).
    public static func range(bytes first: Int64, through last: Int64? = nil) -> HTTPField {
        HTTPField(name: .range, value: "bytes=\(first)-\(last.map(String.init) ?? "")")
    }

    /// Where the request comes from (RFC 9110, section 10.1.3).
    public static func referer(_ value: String) -> HTTPField { HTTPField(name: .referer, value: value) }

    /// What sends the request (RFC 9110, section 10.1.5), in place of the session's.
    public static func userAgent(_ value: String) -> HTTPField { HTTPField(name: .userAgent, value: value) }

    /// Any field.
    ///
    /// - Returns: `nil` if `name` is no token (RFC 9110, section 5.1).
    public static func named(_ name: String, _ value: String) -> HTTPField? {
        Name(name).map { HTTPField(name: $0, value: value) }
    }

    /// It is a token, so that the other name is never taken.
    private static let acceptCharsetName = Name("Accept-Charset") ?? .accept
}
