public import FoundationEssentials

/// Anything that can become a ``Request``: a request itself, a URL, a type of your own that describes an endpoint.
///
/// A type for all the requests of a service keeps URLs, methods and parameters in one place:
///
/// ```swift
/// enum Users: RequestConvertible {
///     case list(page: Int)
///     case create(NewUser)
///     case delete(id: Int)
///
///     func asRequest() throws -> Request {
///         switch self {
///         case .list(let page): Request("users").addingQuery(["page": "\(page)"])
///         case .create(let user): try Request("users").withMethod(.post).withParameters(user, encoder: .json)
///         case .delete(let id): Request("users/\(id)").withMethod(.delete)
///         }
///     }
/// }
///
/// let (data, _) = try await session.data(Users.list(page: 2))     // relative to the session's base URL
/// ```
public protocol RequestConvertible: Sendable {
    /// The request, made anew each time.
    ///
    /// - Throws: Whatever keeps it from being made; the verbs of ``Session`` throw it unchanged.
    func asRequest() throws -> Request
}

/// Anything that can become a URL, and so a `GET` of it: `String`, `URL`, `URLComponents`, and types of your own, such as an
/// enumeration of the places of a service:
///
/// ```swift
/// enum Place: URLConvertible {
///     case home, user(Int)
///
///     func asURL() throws -> URL { try asURLString().asURL() }
///
///     func asURLString() -> String {
///         switch self {
///         case .home: "https://api.example.com/"
///         case .user(let id): "https://api.example.com/users/\(id)"
///         }
///     }
/// }
///
/// session.request(Place.user(7), method: .delete)
/// ```
///
/// A URL may be relative where the session has a ``SessionConfiguration/baseURL``.
public protocol URLConvertible: RequestConvertible {
    /// The URL.
    ///
    /// - Throws: Whatever keeps it from being made.
    func asURL() throws -> URL

    /// The URL as text. The default takes it from ``asURL()``; implement it where the text is at hand.
    ///
    /// - Throws: Whatever keeps it from being made.
    func asURLString() throws -> String
}

extension URLConvertible {
    /// The text of ``asURL()``.
    public func asURLString() throws -> String { try asURL().absoluteString }

    /// A `GET` of the URL.
    ///
    /// - Throws: What the conversion to a URL throws.
    public func asRequest() throws -> Request { try Request(self).asRequest() }
}

extension String: URLConvertible {
    /// The text as a URL.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if it is none.
    public func asURL() throws -> URL {
        guard let url = URL(string: self) else { throw TrellisError(.invalidURL("it cannot be parsed"), url: self) }
        return url
    }

    /// The text itself. It is parsed when the request is sent.
    public func asURLString() throws -> String { self }
}

extension URL: URLConvertible {
    /// The URL itself.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// The URL of the components.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if they make none, for example a path without a
    ///   leading slash after a host.
    public func asURL() throws -> URL {
        guard let url else { throw TrellisError(.invalidURL("its components do not fit together")) }
        return url
    }

    /// The text of the components.
    ///
    /// - Throws: As ``asURL()``.
    public func asURLString() throws -> String {
        guard let string else { throw TrellisError(.invalidURL("its components do not fit together")) }
        return string
    }
}
