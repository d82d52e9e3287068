public import FoundationEssentials

/// Anything that can become a ``Request``: a request itself, a URL, a type of your own that describes an endpoint.
public protocol RequestConvertible: Sendable {
    /// The request, made anew each time.
    ///
    /// - Throws: Whatever keeps it from being made; the verbs of ``Session`` throw it unchanged.
    func asRequest() throws -> Request
}

/// Anything that can become a URL, and so a `GET` of it.
public protocol URLConvertible: RequestConvertible {
    /// The absolute URL.
    ///
    /// - Throws: Whatever keeps it from being made.
    func asURL() throws -> URL

    /// The absolute URL as text. The default takes it from ``asURL()``; implement it where the text is at hand.
    ///
    /// - Throws: Whatever keeps it from being made.
    func asURLString() throws -> String
}

extension URLConvertible {
    /// The text of ``asURL()``.
    public func asURLString() throws -> String { try asURL().absoluteString }

    /// A `GET` of the URL.
    public func asRequest() throws -> Request { Request(self) }
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
