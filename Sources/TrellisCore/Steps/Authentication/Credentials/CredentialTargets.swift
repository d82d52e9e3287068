import CurlEngine

/// A lookup of the origin of a request and of credentials that the request brings along.
struct CredentialTargets: Sendable {
    private let urls = WireURLCache()

    /// Returns the URL of a request; `nil` if the request must not be changed, because it has credentials of its own or a URL
    /// without a known origin.
    func target(of request: Request) -> WireURL? {
        guard !request.headers.contains(.authorization), let url = url(request.url), url.password == nil else {
            return nil
        }
        return url
    }

    func url(_ text: String) -> WireURL? { try? urls.url(parsing: text) }

    /// Returns the scheme, the host and the port unless it is the scheme's default (RFC 9110, section 4.3.1).
    static func origin(of url: some URLConvertible) throws -> String {
        let text = try url.asURLString()
        do throws(WireURL.ParseFailure) {
            return try WireURL(parsing: text).origin
        } catch {
            throw TrellisError(.invalidURL("credentials need the origin of an absolute http or https URL"), url: text)
        }
    }
}

extension Request {
    /// Whether the request brings credentials along, in a field or in its URL.
    var hasCredentials: Bool { headers.contains(.authorization) || URLRedaction.hasUserInformation(url) }
}
