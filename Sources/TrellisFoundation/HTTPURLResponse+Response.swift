import Foundation
public import FoundationNetworking
import HTTPTypes
public import Trellis

extension HTTPURLResponse {
    /// A response as `URLSession` would have it: URL, status, version and header fields.
    ///
    /// ```swift
    /// let (data, response) = try await session.data(urlRequest)
    /// return (data, HTTPURLResponse(response))
    /// ```
    ///
    /// Fields that repeat a name become one, their values joined with `", "` in their order, as `URLSession` does it. That
    /// goes for `Set-Cookie` too, whose values may hold commas of their own: `HTTPCookie.cookies(withResponseHeaderFields:for:)`
    /// takes such a value apart again, and finds each cookie but those with a comma and something like `name=` in their value.
    /// Where that matters, read `response.headerFields[values: .setCookie]`, which is what the server sent.
    ///
    /// Header fields are those of the final head: a body that was decoded still has its `Content-Encoding`, and a
    /// `Content-Length` speaks of its coded bytes. Trailers, informational heads and metrics have no place here.
    ///
    /// - Returns: `nil` if Foundation does not take the URL of the response.
    public convenience init?(_ response: Response) {
        guard let url = URL(string: response.url) else { return nil }
        self.init(
            url: url, statusCode: response.status.code, httpVersion: "HTTP/\(response.version)",
            headerFields: response.headerFields.joinedValues())
    }
}
