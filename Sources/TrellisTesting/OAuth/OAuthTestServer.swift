import CurlEngine
public import TrellisCore

/// A small authorization server (OAuth 2.0) for tests, without sockets: give it the requests that a ``MockTransport`` or a
/// ``LoopbackServer`` receives.
///
/// ```swift
/// let server = OAuthTestServer("https://id.example.com", clients: ["reports": "s3cret"])
/// let transport = MockTransport { request in
///     if let answer = server.response(to: request) { return answer }
///     return server.accepts(request["Authorization"]) ? .text("hello") : MockResponse(status: 401)
/// }
/// ```
///
/// It knows client credentials, refresh tokens with rotation, assertions (RFC 7523), device codes (RFC 8628), and authorization codes with
/// PKCE (RFC 7636), and answers with the errors of these RFCs. Its paths are `/token`, `/device`, `/authorize`, and
/// the place of its metadata (RFC 8414).
public final class OAuthTestServer: Sendable {
    /// The answer to the next question of a device (RFC 8628, section 3.5).
    public enum DeviceAnswer: String, Sendable, Hashable {
        /// Nobody has entered the code yet.
        case pending = "authorization_pending"
        /// The device asks too often.
        case slowDown = "slow_down"
        /// The person has refused.
        case denied = "access_denied"
        /// The code has expired.
        case expired = "expired_token"
        /// The person has agreed: there is a token.
        case agreed
    }

    /// The settings of a server.
    public struct Rules: Sendable {
        /// The seconds after which access tokens expire, as `expires_in` says; `nil` for tokens that the server does not say it of.
        public var lifetime: Int? = 3600
        /// Whether each use of a refresh token returns a new one, and the old one ends. A second use of an old one ends all.
        public var rotates = true
        /// Whether client credentials and assertions get a refresh token too.
        public var issuesRefreshTokens = false
        /// The assertions that are accepted, of users and of clients.
        public var assertions: Set<String> = []
        /// The answers to the questions of devices, in order; after the last, the person has agreed.
        public var deviceAnswers: [DeviceAnswer] = []
        /// The seconds between the questions of a device; `nil` to leave them out of the answer.
        public var deviceInterval: Int?
        /// Responses for the next requests for tokens, before any rule.
        public var interruptions: [MockResponse] = []

        /// Creates the default settings.
        public init() {}
    }

    /// The URL of the server without a path, which is its issuer.
    public let issuer: String
    private let state: Locked<OAuthTestState>

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - issuer: The URL of the server, without a path.
    ///   - clients: The secrets of the clients by their identifiers; `nil` for a public client.
    ///   - rules: The settings.
    public init(_ issuer: String, clients: [String: String?], rules: Rules = Rules()) {
        self.issuer = issuer
        state = Locked(OAuthTestState(clients: clients, rules: rules))
    }

    /// The settings, which may change between requests.
    public var rules: Rules {
        get { state.withLock { $0.rules } }
        set { state.withLock { $0.rules = newValue } }
    }

    /// The number of requests to the token endpoint so far.
    public var tokenRequestCount: Int { state.withLock { $0.forms.count } }

    /// The forms that the token endpoint has received, in order.
    public var forms: [[String: String]] { state.withLock { $0.forms } }

    /// The access tokens that were issued, in order.
    public var issued: [String] { state.withLock { $0.issued } }

    /// Ends all access tokens. Refresh tokens stay.
    public func expireAccessTokens() { state.withLock { $0.valid = [] } }

    /// Ends all refresh tokens.
    public func revokeRefreshTokens() { state.withLock { $0.refreshTokens = [:] } }

    /// Returns a refresh token that the server accepts, for clients that begin with one.
    public func makeRefreshToken() -> String { state.withLock { $0.newRefreshToken() } }

    /// Returns whether the value of an `Authorization` field has an access token that has not ended.
    public func accepts(_ field: String?) -> Bool {
        state.withLock { state in state.valid.contains { "Bearer \($0)" == field } }
    }

    /// Returns the URL to which a person who agrees is sent back from the page of a URL, with the code and the state (RFC 6749,
    /// section 4.1.2); `nil` if the URL is none of this server's.
    public func authorize(_ url: String) -> String? {
        guard url.hasBytePrefix("\(issuer)/authorize?"), let mark = url.firstIndex(ofByte: "?") else { return nil }
        let items = FormItems.parse(url[url.utf8.index(after: mark)...])
        guard let target = items["redirect_uri"], let state = items["state"] else { return nil }
        let code = self.state.withLock { $0.newCode(items) }
        return "\(target)?code=\(code)&state=\(PercentEncoding.encode(state))"
    }

    // MARK: Responses

    /// Returns the response to a request of a session; `nil` if it goes to another server or path.
    public func response(to request: TransportRequest) -> MockResponse? {
        guard request.url.hasBytePrefix("\(issuer)/") else { return nil }
        let text = request.body?.data.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return answer(path: request.path, form: text, authorization: request["Authorization"])
    }

    /// Returns the response to a request over a socket; `nil` if it goes to another path.
    public func response(to request: LoopbackServer.ReceivedRequest) -> LoopbackServer.Response? {
        let text = String(decoding: request.body, as: UTF8.self)
        guard let answer = answer(path: request.path, form: text, authorization: request["Authorization"]) else {
            return nil
        }
        guard case .data(let body) = answer.content else { return nil }
        return LoopbackServer.Response(status: answer.head.status.code, headers: answer.head.headers, body: body)
    }

    private func answer(path: String, form: String, authorization: String?) -> MockResponse? {
        switch path {
        case "/token":
            return state.withLock { $0.token(FormItems.parse(form[...]), authorization: authorization) }
        case "/device":
            return state.withLock { $0.device(FormItems.parse(form[...]), issuer: issuer) }
        case "/.well-known/oauth-authorization-server":
            return .json(
                #"""
                {"issuer": "\#(issuer)", "token_endpoint": "\#(issuer)/token",
                 "authorization_endpoint": "\#(issuer)/authorize", "device_authorization_endpoint": "\#(issuer)/device"}
                """#)
        default: return nil
        }
    }
}
