import Foundation
public import FoundationNetworking
import HTTPTypes
public import TrellisCore

extension HTTPURLResponse {
    /// Creates a response as `URLSession` does: URL, status, version and header fields.
    ///
    /// ```swift
    /// let (data, response) = try await session.data(urlRequest)
    /// return (data, HTTPURLResponse(response))
    /// ```
    ///
    /// Fields that repeat a name become one field, their values joined with `", "` in their order, as in `URLSession`. The same
    /// is true of `Set-Cookie`, whose values may contain commas: `HTTPCookie.cookies(withResponseHeaderFields:for:)` splits such
    /// a value again, and finds every cookie except those with a comma and a text like `name=` in their value. To read such
    /// cookies, use `response.headers[values: .setCookie]`, which holds the fields as the server sent them.
    ///
    /// The header fields come from the final head: a body that was decoded still has its `Content-Encoding`, and a
    /// `Content-Length` counts its coded bytes. Trailers, informational heads and metrics are left out.
    ///
    /// - Returns: `nil` if Foundation does not accept the URL of the response.
    public convenience init?(_ response: Response) {
        guard let url = URL(string: response.url) else { return nil }
        self.init(
            url: url, statusCode: response.status.code, httpVersion: "HTTP/\(response.version)",
            headerFields: response.headers.joinedValues())
    }
}
