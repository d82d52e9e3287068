import CurlEngine
import HTTPTypes

/// The HTTP proxy of a session, through which all of its requests go.
///
/// ```swift
/// configuration.proxy = try ProxyConfiguration("http://proxy.example:3128", username: "ada", password: password)
/// ```
///
/// Requests for `https` URLs go through a tunnel (`CONNECT`; RFC 9110, section 9.3.6), so that the proxy learns only the host and the port.
/// Requests for `http` URLs are read and forwarded by the proxy (RFC 9112, section 3.2.2); with ``Authentication/digest`` they go through a
/// tunnel as well, which the proxy must allow for their ports.
///
/// The name and the password are sent only to the proxy. The connection to the proxy is not encrypted: with ``Authentication/basic``,
/// everyone on the network path can read them. No request to a server, description, error or event contains them.
///
/// A proxy that cannot be reached or does not open a tunnel is an error of kind ``TrellisError/Kind/proxy``. The proxy's own response to a
/// request for an `http` URL, such as 407 or 502, is a response like any other. ``Metrics/peerAddress`` is the proxy's address.
public struct ProxyConfiguration: Sendable, Hashable, RedactedDescription {
    /// The scheme by which requests authenticate to the proxy.
    public enum Authentication: String, Sendable, Hashable, CaseIterable {
        /// The name and the password without encryption (RFC 7617), with every request to the proxy.
        case basic
        /// A proof that the client knows the password (RFC 7616), sent when the proxy asks for it.
        case digest
    }

    /// The URL of the proxy, such as `http://proxy.example:3128`: without user information, and with the port.
    public let url: String
    /// The authentication scheme, used if there is a name or a password.
    public let authentication: Authentication
    /// The proxy in the form in which the engine is configured, including the credentials.
    let engine: EngineConfiguration.Proxy

    /// Creates the configuration of a proxy.
    ///
    /// - Parameters:
    ///   - url: `http://host:port`; the default port is 80. User information in the URL (`http://ada:secret@host:port`, percent-encoded) is
    ///     the name and the password.
    ///   - username: The name; takes precedence over a name in the URL.
    ///   - password: The password; takes precedence over a password in the URL.
    ///   - authentication: The authentication scheme. No other scheme is tried, even if the proxy asks for one.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` for a URL with another scheme, without a host, or with
    ///   a path, query or fragment; of kind ``TrellisError/Kind/invalidRequest`` for a control character in the name or the
    ///   password, or a colon in the name for ``Authentication/basic``; the errors of the URL's own conversion.
    public init(
        _ url: some URLConvertible, username: String? = nil, password: String? = nil,
        authentication: Authentication = .basic
    ) throws {
        let text = try url.asURLString()
        let wire = try Self.parse(text)
        let hasCredentials = [username, password, wire.user, wire.password].contains { $0 != nil }
        let credentials =
            hasCredentials
            ? EngineConfiguration.Proxy.Credentials(
                username: username ?? wire.user ?? "", password: password ?? wire.password ?? "",
                isDigest: authentication == .digest)
            : nil
        if let credentials { try Self.check(credentials) }
        engine = EngineConfiguration.Proxy(host: wire.host, port: wire.port, credentials: credentials)
        self.url = "http://\(engine.name)"
        self.authentication = authentication
    }

    private static func parse(_ text: String) throws(TrellisError) -> WireURL {
        do throws(WireURL.ParseFailure) {
            let wire = try WireURL(parsing: text)
            guard wire.scheme == "http" else { throw .unsupportedScheme(wire.scheme) }
            guard wire.text.dropFirst(wire.origin.count) == "/", !text.containsBytes("#"), !text.containsBytes("?")
            else {
                throw .malformed("it has a path, a query or a fragment")
            }
            return wire
        } catch {
            let why =
                switch error {
                case .empty: "it is empty"
                case .relative, .unsupportedScheme: "it does not begin with http://, and no other proxies are supported"
                case .malformed(let why): why
                }
            // In a malformed URL, any part may be a password.
            let isTellable = !text.containsBytes("@")
            throw TrellisError(.invalidURL("as that of a proxy: \(why)"), url: isTellable ? text : nil)
        }
    }

    private static func check(_ credentials: EngineConfiguration.Proxy.Credentials) throws(TrellisError) {
        do throws(TrellisError) {
            // Basic authentication sends the name and the password as one text, in which a colon ends the name.
            try credentials.isDigest
                ? CredentialText.check(username: "", password: credentials.username + credentials.password)
                : CredentialText.check(username: credentials.username, password: credentials.password)
        } catch {
            var failure = TrellisError(.invalidRequest(.headerField(HTTPField.Name.proxyAuthorization.rawName)))
            failure.detail = error.detail
            throw failure
        }
    }

    /// The URL of the proxy, without the name and the password.
    public var description: String {
        "ProxyConfiguration(\(url)\(engine.credentials == nil ? "" : ", credentials REDACTED"))"
    }
}

extension ProxyConfiguration {
    /// Returns the curl options that set the proxy.
    func cURLArguments(revealsSecrets: Bool) -> [String] {
        var arguments = ["--proxy", url]
        guard let credentials = engine.credentials else { return arguments }
        let pair = revealsSecrets ? "\(credentials.username):\(credentials.password)" : "REDACTED:REDACTED"
        arguments += ["--proxy-user", pair]
        if credentials.isDigest { arguments += ["--proxy-digest", "--proxytunnel"] }
        return arguments
    }
}
