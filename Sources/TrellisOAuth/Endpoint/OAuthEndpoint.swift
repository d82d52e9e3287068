import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// An authorization server whose endpoints are known.
struct FoundServer: Sendable {
    let urls: OAuthEndpoints
    let endpoint: OAuthEndpoint
}

/// The sender of the requests to an authorization server.
struct OAuthEndpoint: Sendable {
    /// The largest response, in bytes. Tokens with many claims have some ten thousand.
    static let maximumResponse = 256 << 10

    let session: RefreshSession
    let client: OAuthClient
    let timeout: Duration

    /// The policy for failures that pass: two more requests within seconds, after the time in `Retry-After` if that is short. A token
    /// endpoint may be asked twice: without an answer, the client has no better refresh token than the one that it has sent.
    static let retry = RetryPolicy(
        retryLimit: 2, maximumBackoff: .seconds(5), maximumRetryAfter: .seconds(15),
        retryableHTTPMethods: [.get, .post])

    /// Posts a form, and returns the object of the response.
    ///
    /// - Parameters:
    ///   - form: The form, without the client.
    ///   - url: The URL of the endpoint.
    ///   - audience: The URL of the token endpoint, for which the client's assertion is made.
    ///   - isRepeated: Whether the request is sent again after a failure that passes.
    func post(_ form: TokenForm, to url: String, audience: String, isRepeated: Bool = true) async throws -> JSONValue {
        var form = form
        _ = try SecureURL.parsed(url)
        try await form.add(client, for: audience)
        var request = Request(
            url, method: .post,
            body: .data(Data(form.text.utf8), contentType: "application/x-www-form-urlencoded"))
        request.headers[.accept] = "application/json"
        var secrets = form.secrets
        if case .secretBasic(let secret) = client.authentication {
            secrets.append(secret)
            request = request.withAuthorization(
                username: PercentEncoding.encode(client.id), password: PercentEncoding.encode(secret))
            secrets += request.headers[.authorization].map { [String($0.dropFirst("Basic ".count))] } ?? []
        }
        // A server may repeat the request as it was sent.
        secrets += secrets.map { PercentEncoding.encode($0) }
        let (body, status) = try await send(request, isRepeated: isRepeated)
        return try TokenResponse.object(body, status: status, secrets: secrets)
    }

    /// Returns the JSON object at a URL; `nil` if there is none.
    func metadata(_ url: String) async throws -> JSONValue? {
        _ = try SecureURL.parsed(url)
        var request = Request(url)
        request.headers[.accept] = "application/json"
        let (body, status) = try await send(request, isRepeated: true)
        guard status != 404, status != 410 else { return nil }
        guard status == 200 else { throw OAuthError.unacceptableStatus(status) }
        guard let value = try? JSONValue(json: body), case .object = value else {
            throw OAuthError.malformedResponse(reason: "the metadata is not a JSON object")
        }
        return value
    }

    /// Returns the response to a request without credentials, for its challenge.
    func probe(_ url: String) async throws -> Response {
        _ = try SecureURL.parsed(url)
        return try await session.data(bounded(Request(url), isRepeated: true)).1
    }

    private func send(_ request: Request, isRepeated: Bool) async throws -> (Data, Int) {
        let (body, response) = try await session.data(bounded(request, isRepeated: isRepeated))
        return (body, response.status.code)
    }

    /// Returns the request with its limits. A redirect is not followed: it would send the secrets of the form to another server.
    private func bounded(_ request: Request, isRepeated: Bool) -> Request {
        var request = request
        request.timeouts = Timeouts(total: timeout)
        request.maximumBodySize = .bytes(Self.maximumResponse)
        request = request.withRedirectHandler(.doNotFollow)
        return isRepeated ? request.withInterceptor(Self.retry) : request
    }
}
