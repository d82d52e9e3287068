public import FoundationEssentials

/// A type that can be converted to a ``Request``: a request itself, a URL, or a type of your own that describes an endpoint.
///
/// A type for all requests of a service keeps URLs, methods and parameters in one place:
///
/// ```swift
/// enum Users: RequestConvertible {
///     case list(page: Int)
///     case create(NewUser)
///     case delete(id: Int)
///
///     func asRequest() throws -> Request {
///         switch self {
///         case .list(let page): Request("users", query: ["page": "\(page)"])
///         case .create(let user): try Request("users").withMethod(.post).withParameters(user, encoder: .json)
///         case .delete(let id): Request("users/\(id)").withMethod(.delete)
///         }
///     }
/// }
///
/// let (data, _) = try await session.data(Users.list(page: 2))     // relative to the session's base URL
/// ```
public protocol RequestConvertible: Sendable {
    /// Returns the request, created again each time.
    ///
    /// - Throws: Any error that prevents the conversion; the verbs of ``Session`` throw the error unchanged.
    func asRequest() throws -> Request
}

/// A type that can be converted to a URL, and so to a `GET` request for that URL: `String`, `URL`, `URLComponents`, and types of
/// your own, such as an enumeration of the endpoints of a service:
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
/// A URL may be relative if the session has a ``SessionConfiguration/baseURL``.
public protocol URLConvertible: RequestConvertible {
    /// Returns the URL.
    ///
    /// - Throws: Any error that prevents the conversion.
    func asURL() throws -> URL

    /// Returns the URL as text. The default implementation takes the text from ``asURL()``; implement this method if the text is
    /// available without a conversion.
    ///
    /// - Throws: Any error that prevents the conversion.
    func asURLString() throws -> String
}

extension URLConvertible {
    /// Returns the text of ``asURL()``.
    ///
    /// - Throws: As ``asURL()``.
    public func asURLString() throws -> String { try asURL().absoluteString }

    /// Returns a `GET` request for the URL.
    ///
    /// - Throws: The error that the conversion to a URL throws.
    public func asRequest() throws -> Request { try Request(self).asRequest() }
}

extension String: URLConvertible {
    /// Returns the text as a URL.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the text is not a URL.
    public func asURL() throws -> URL {
        guard let url = URL(string: self) else { throw TrellisError(.invalidURL("it is not a valid URL"), url: self) }
        return url
    }

    /// Returns the text itself. The text is parsed when the request is sent.
    ///
    /// - Throws: Nothing.
    public func asURLString() throws -> String { self }
}

extension URL: URLConvertible {
    /// Returns the URL itself.
    ///
    /// - Throws: Nothing.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// Returns the URL of the components.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the components do not form a URL, for example
    ///   because of a path without a leading slash after a host.
    public func asURL() throws -> URL {
        guard let url else { throw TrellisError(.invalidURL("the components do not form a valid URL")) }
        return url
    }

    /// Returns the text of the components.
    ///
    /// - Throws: As in ``asURL()``.
    public func asURLString() throws -> String {
        guard let string else { throw TrellisError(.invalidURL("the components do not form a valid URL")) }
        return string
    }
}

/// A request with a body that a verb adds.
struct RequestWithBody<Base: RequestConvertible>: RequestConvertible {
    let body: RequestBody
    let request: Base

    func asRequest() throws -> Request {
        var request = try request.asRequest()
        request.body = body
        request.isUpload = true
        if request.method == .get { request.method = .post }
        return request
    }
}
