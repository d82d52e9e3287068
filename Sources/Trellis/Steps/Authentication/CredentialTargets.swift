import CurlEngine

/// Finds out where a request goes and whether it brings credentials of its own.
struct CredentialTargets: Sendable {
    private let urls = WireURLCache()

    /// `nil` for a request that is not to be touched: it has credentials of its own, or no URL that says where it goes.
    func target(of request: Request) -> WireURL? {
        guard !request.headerFields.contains(.authorization), let url = url(request.url), url.password == nil else {
            return nil
        }
        return url
    }

    func url(_ text: String) -> WireURL? { try? urls.url(parsing: text) }

    /// Scheme, host and any port but the scheme's own (RFC 9110, section 4.3.1).
    static func origin(of url: some URLConvertible) throws -> String {
        let text = try url.asURLString()
        do throws(WireURL.ParseFailure) {
            return try WireURL(parsing: text).origin
        } catch {
            throw TrellisError(.invalidURL("credentials need the origin of an absolute http or https URL"), url: text)
        }
    }
}
