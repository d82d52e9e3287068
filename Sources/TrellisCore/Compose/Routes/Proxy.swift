package import CurlEngine
import HTTPTypes

/// A proxy, with the credentials for it.
///
/// ```swift
/// let proxy = try Proxy("http://proxy.example:3128", username: "ada", password: password)
/// let hidden = try Proxy("socks5h://127.0.0.1:9050")
/// configuration.proxy = .always(try proxy.reached(through: hidden))
/// ```
///
/// | scheme | default port | connection to the proxy | name of the server is looked up |
/// |---|---|---|---|
/// | `http` | 80 | not encrypted | by the proxy |
/// | `https` | 443 | TLS; the proxy's certificate is verified like a server's | by the proxy |
/// | `socks4`, also `socks` | 1080 | not encrypted; IPv4 only | here |
/// | `socks4a` | 1080 | not encrypted | by the proxy |
/// | `socks5` (RFC 1928) | 1080 | not encrypted | here |
/// | `socks5h` | 1080 | not encrypted | by the proxy |
///
/// The name and the password go to the proxy alone: SOCKS 5 sends them as RFC 1929 says, SOCKS 4 only the name. Without `https`, everyone
/// on the way can read them, unless ``Authentication/digest`` is named. No description, error or event contains them.
///
/// A proxy that cannot be reached or opens no tunnel is an error of kind ``TrellisError/Kind/proxy``. A proxy's response to a request
/// for an `http` URL, such as 407 or 502, is a response like any other. ``Metrics/peerAddress`` is the proxy's address. <doc:Proxies> has
/// which requests go through a tunnel.
public struct Proxy: Sendable, Hashable, RedactedDescription {
    /// The protocols that are spoken with a proxy, by the schemes of their URLs.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// No proxy: a direct connection (``Proxy/direct``).
        case direct
        /// HTTP without encryption (RFC 9110, section 7.3.2).
        case http
        /// HTTP over TLS.
        case https
        /// SOCKS 4: the server's IPv4 address is looked up here.
        case socks4
        /// SOCKS 4A: the server's name is looked up by the proxy.
        case socks4a
        /// SOCKS 5 (RFC 1928): the server's address is looked up here.
        case socks5
        /// SOCKS 5 (RFC 1928): the server's name is looked up by the proxy.
        case socks5h

        /// The default port; 0 for a direct connection.
        public var defaultPort: Int {
            switch self {
            case .direct: 0
            case .http: 80
            case .https: 443
            case .socks4, .socks4a, .socks5, .socks5h: 1080
            }
        }

        /// Whether the protocol is a version of SOCKS.
        public var isSOCKS: Bool {
            switch self {
            case .direct, .http, .https: false
            case .socks4, .socks4a, .socks5, .socks5h: true
            }
        }
    }

    /// The schemes by which requests authenticate to an HTTP proxy.
    public enum Authentication: String, Sendable, Hashable, CaseIterable {
        /// ``basic`` with the first request, before the proxy has asked, and ``digest`` if the proxy refuses that (401 or 407) and may want
        /// Digest. The password is readable on the way to an `http` proxy.
        case any
        /// The name and the password without encryption (RFC 7617), with every request to the proxy.
        case basic
        /// A proof that the client knows the password (RFC 7616), sent when the proxy asks for it.
        case digest
    }

    /// A direct connection, as the last resort of a list of proxies.
    public static let direct = Proxy()

    /// The protocol.
    public let kind: Kind
    /// The URL of the proxy, such as `http://proxy.example:3128`: without user information, and with the port. For a proxy at a Unix domain
    /// socket, `socks5h://localhost/run/socks`; for a direct connection, `direct://`.
    public let url: String
    /// The authentication scheme of an HTTP proxy, used if there is a name or a password.
    public let authentication: Authentication
    /// The proxy in the form in which the engine is configured, including the credentials; `nil` for a direct connection.
    package let engine: EngineConfiguration.ProxyServer?

    /// Creates a proxy.
    ///
    /// - Parameters:
    ///   - url: The scheme, the host and the port, such as `socks5h://host:1080`. User information in the URL
    ///     (`http://ada:secret@host:port`, percent-encoded) is the name and the password. A path after `localhost` names the Unix
    ///     domain socket of a SOCKS proxy, percent-encoded: `socks5h://localhost/run/socks`.
    ///   - username: The name; takes precedence over a name in the URL.
    ///   - password: The password; takes precedence over a password in the URL.
    ///   - authentication: The authentication scheme of an HTTP proxy. With ``Authentication/basic`` and ``Authentication/digest``, no
    ///     other scheme is tried, even if the proxy asks for one.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` for a URL with another scheme, without a host, or with a path,
    ///   query or fragment; of kind ``TrellisError/Kind/invalidRequest`` for credentials with a control character, a colon in the name for
    ///   ``Authentication/basic``, or a name or password of more than 255 bytes for SOCKS; the errors of the URL's own conversion.
    public init(
        _ url: some URLConvertible, username: String? = nil, password: String? = nil,
        authentication: Authentication = .any
    ) throws {
        try self.init(
            try ProxyURL(try url.asURLString()), username: username, password: password, authentication: authentication)
    }

    /// Creates the proxy that a variable of the environment names.
    init(variable value: String) throws(TrellisError) {
        let text = value.schemeMark == nil ? "http://\(value)" : value
        try self.init(try ProxyURL(text, ignoresPath: true), username: nil, password: nil, authentication: .any)
    }

    private init(
        _ parts: ProxyURL, username: String?, password: String?, authentication: Authentication
    ) throws(TrellisError) {
        let hasCredentials = [username, password, parts.username, parts.password].contains { $0 != nil }
        let credentials =
            hasCredentials
            ? EngineConfiguration.ProxyServer.Credentials(
                username: username ?? parts.username ?? "", password: password ?? parts.password ?? "",
                isDigest: authentication == .digest && !parts.kind.isSOCKS)
            : nil
        if let credentials { try Self.check(credentials, parts.kind) }
        self.init(
            kind: parts.kind, authentication: authentication,
            engine: EngineConfiguration.ProxyServer(
                scheme: parts.kind.engineScheme, host: parts.host, port: parts.port, socketPath: parts.socketPath,
                credentials: credentials))
    }

    private init(
        kind: Kind = .direct, authentication: Authentication = .basic, engine: EngineConfiguration.ProxyServer? = nil
    ) {
        self.kind = kind
        url = engine?.url ?? "direct://"
        self.authentication = authentication
        self.engine = engine
    }

    /// Returns the proxy as it is reached through another one: requests go to `socks`, from there to this proxy, and from there to the
    /// server.
    ///
    /// - Parameter socks: A SOCKS proxy that is itself reached directly.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` unless `socks` is a SOCKS proxy, this one an HTTP proxy, and
    ///   this one is reached directly until now.
    public func reached(through socks: Proxy) throws(TrellisError) -> Proxy {
        guard let engine, let first = socks.engine, socks.kind.isSOCKS, !kind.isSOCKS, engine.first == nil else {
            throw TrellisError(.invalidRequest(.proxy("only an HTTP proxy is reached through a SOCKS proxy")))
        }
        return Proxy(kind: kind, authentication: authentication, engine: engine.reached(through: first))
    }

    /// Returns the proxy with another name, password or authentication scheme; those that are `nil` stay.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for credentials that the proxy cannot have.
    package func changed(
        username: String?, password: String?, authentication: Authentication?
    ) throws(TrellisError) -> Proxy {
        guard let engine else { return self }
        let (known, scheme) = (engine.credentials, authentication ?? self.authentication)
        guard known != nil || username != nil || password != nil else {
            return Proxy(kind: kind, authentication: scheme, engine: engine)
        }
        let credentials = EngineConfiguration.ProxyServer.Credentials(
            username: username ?? known?.username ?? "", password: password ?? known?.password ?? "",
            isDigest: scheme == .digest && !kind.isSOCKS)
        try Self.check(credentials, kind)
        return Proxy(kind: kind, authentication: scheme, engine: engine.with(credentials))
    }

    /// The same proxy with Digest authentication, if its challenge decides about the scheme and Digest is possible; `nil` otherwise.
    var withDigest: Proxy? {
        guard authentication == .any, let engine, let credentials = engine.credentials, !kind.isSOCKS else {
            return nil
        }
        let digest = EngineConfiguration.ProxyServer.Credentials(
            username: credentials.username, password: credentials.password, isDigest: true)
        return Proxy(kind: kind, authentication: authentication, engine: engine.with(digest))
    }

    private static func check(
        _ credentials: EngineConfiguration.ProxyServer.Credentials, _ kind: Kind
    ) throws(TrellisError) {
        do throws(TrellisError) {
            // Basic authentication sends the name and the password as one text, in which a colon ends the name.
            if !credentials.isDigest, !kind.isSOCKS { try CredentialText.check(basicName: credentials.username) }
            try CredentialText.check(credentials.username + credentials.password)
        } catch {
            var failure = TrellisError(.invalidRequest(.headerField(HTTPField.Name.proxyAuthorization.rawName)))
            failure.detail = error.detail
            throw failure
        }
        // The protocol has one byte for each length (RFC 1929, section 2).
        if kind.isSOCKS, max(credentials.username.utf8.count, credentials.password.utf8.count) > 255 {
            throw TrellisError(.invalidRequest(.proxy("a name or password for SOCKS has more than 255 bytes")))
        }
    }

    /// The URL of the proxy, without the name and the password.
    public var description: String {
        var text = url + (engine?.credentials == nil ? "" : ", credentials REDACTED")
        if let first = engine?.first {
            text += ", through \(first.url)" + (first.credentials == nil ? "" : ", credentials REDACTED")
        }
        return "Proxy(\(text))"
    }
}

extension Proxy.Kind {
    fileprivate var engineScheme: EngineConfiguration.ProxyServer.Scheme {
        switch self {
        case .direct, .http: .http
        case .https: .https
        case .socks4: .socks4
        case .socks4a: .socks4a
        case .socks5: .socks5
        case .socks5h: .socks5h
        }
    }
}
