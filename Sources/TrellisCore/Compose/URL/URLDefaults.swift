import CurlEngine
import FoundationEssentials

/// The additions to the URLs of all requests: a base URL that relative URLs are resolved against, and query items.
///
/// A class: every call checks whether there are additions, and would copy a value for that.
package final class URLDefaults: Sendable {
    /// The base URL, or the error of its conversion, if any.
    private let base: Result<URLReference, TrellisError>?
    /// The query items, with their names and their encoded text.
    private let items: [(name: TextBytes, text: String)]

    /// Creates the additions; `nil` if there is nothing to add.
    init?(baseURL: (any URLConvertible)?, queryItems: [URLQueryItem]) {
        if baseURL == nil, queryItems.isEmpty { return nil }
        base = baseURL.map { base in Result { () throws(TrellisError) in try URLDefaults.reference(base) } }
        items = queryItems.map { (TextBytes($0.name), URLQuery.text($0)) }
    }

    /// Returns the request with its URL resolved, and with the query items whose names the URL does not have.
    package func completing(_ request: Request) throws(TrellisError) -> Request {
        var request = request
        if let base { request.url = try Self.resolve(request.url, against: base) }
        if !items.isEmpty, !request.hasLeftOrigin {
            let names = URLQuery.names(in: request.url)
            let missing = items.filter { !names.contains($0.name) }.map(\.text)
            request.url = URLQuery.appending(missing.joined(separator: "&"), to: request.url)
        }
        return request
    }

    private static func resolve(
        _ text: String, against base: Result<URLReference, TrellisError>
    ) throws(TrellisError) -> String {
        let reference = URLReference(text)
        // An absolute URL is sent as it is, even if the base URL is invalid.
        if reference.scheme != nil { return text }
        return reference.resolved(against: try base.get()).text
    }

    private static func reference(_ base: any URLConvertible) throws(TrellisError) -> URLReference {
        let text: String
        do {
            text = try base.asURLString()
        } catch {
            throw TrellisError(.invalidURL("the session's base URL cannot be converted"), underlying: error)
        }
        let reference = URLReference(text)
        guard reference.scheme != nil, reference.authority != nil else {
            throw TrellisError(.invalidURL("the session's base URL is not absolute"))
        }
        return reference
    }
}
