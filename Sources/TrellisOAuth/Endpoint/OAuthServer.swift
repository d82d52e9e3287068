import CurlEngine
import TrellisCore

/// The authorization server, by its endpoints or by the metadata that names them.
///
/// ```swift
/// OAuthServer.tokenEndpoint("https://id.example.com/token")
/// OAuthServer.issuer("https://id.example.com")                  // RFC 8414: the server's metadata
/// OAuthServer.protectedResource("https://api.example.com")      // RFC 9728: the API names its server
/// ```
///
/// Every endpoint is an `https` URL, or a URL on this machine for tests.
public struct OAuthServer: Sendable, Hashable {
    /// The ways in which endpoints are found.
    enum Location: Sendable, Hashable {
        case endpoints(OAuthEndpoints)
        case issuer(String)
        case protectedResource(String)
    }

    let location: Location

    /// Returns a server whose endpoints are known.
    ///
    /// - Parameters:
    ///   - url: The URL of the token endpoint.
    ///   - authorization: The URL of the page where a person signs in, for ``OAuthGrant/authorizationCode(signsInAgain:open:)``.
    ///   - deviceAuthorization: The URL that issues device codes, for ``OAuthGrant/deviceCode(signsInAgain:show:)``.
    public static func tokenEndpoint(
        _ url: String, authorization: String? = nil, deviceAuthorization: String? = nil
    ) -> OAuthServer {
        OAuthServer(
            location: .endpoints(
                OAuthEndpoints(token: url, authorization: authorization, deviceAuthorization: deviceAuthorization)))
    }

    /// Returns a server whose metadata names its endpoints (RFC 8414), in `/.well-known/oauth-authorization-server` or, if there is none,
    /// in `/.well-known/openid-configuration`. The metadata is fetched before the first token. Its issuer must be this one, byte for
    /// byte.
    public static func issuer(_ url: String) -> OAuthServer { OAuthServer(location: .issuer(url)) }

    /// Returns the first server that a protected resource names in its metadata (RFC 9728).
    ///
    /// The metadata's URL is the one in the parameter `resource_metadata` of the resource's challenge, if there was one, or else
    /// `/.well-known/oauth-protected-resource`. The resource in the metadata must have the origin of the URL, and its path must be the
    /// beginning of the URL's. Tokens are asked for with it as the `resource` (RFC 8707), unless ``OAuthAuthenticator/resources`` are set.
    /// A challenge that leads to another server than the first is an error.
    ///
    /// - Parameter url: The URL of the resource, such as `https://api.example.com/v1`.
    public static func protectedResource(_ url: String) -> OAuthServer {
        OAuthServer(location: .protectedResource(url))
    }
}

/// The endpoints of an authorization server.
struct OAuthEndpoints: Sendable, Hashable {
    var token: String
    var authorization: String?
    var deviceAuthorization: String?
    /// The issuer, if it is known from metadata.
    var issuer: String?
    /// Whether the server names its issuer in the answers that a browser brings (RFC 9207, section 3).
    var sendsIssuer = false
    /// The resource that the server was found with, if any.
    var resource: String?

    init(
        token: String, authorization: String? = nil, deviceAuthorization: String? = nil, issuer: String? = nil,
        resource: String? = nil
    ) {
        self.token = token
        self.authorization = authorization
        self.deviceAuthorization = deviceAuthorization
        self.issuer = issuer
        self.resource = resource
    }
}

/// A URL to which secrets may be sent.
enum SecureURL {
    /// Returns the URL, parsed.
    ///
    /// - Throws: ``OAuthError/insecureEndpoint(url:)``.
    static func parsed(_ text: String) throws(OAuthError) -> WireURL {
        let url: WireURL
        do throws(WireURL.ParseFailure) { url = try WireURL(parsing: text) } catch { throw insecure(text) }
        guard url.isSecure || URLOrigin(url).isLoopback, url.user == nil else { throw insecure(text) }
        return url
    }

    /// Checks a URL that the metadata or the challenge of another one names. Only a server on this machine may name a port of this machine
    /// without TLS: any program may listen there.
    ///
    /// - Throws: As ``parsed(_:)``.
    static func check(_ text: String, namedBy source: String) throws(OAuthError) {
        let (url, source) = (try parsed(text), try parsed(source))
        guard url.isSecure || !source.isSecure else { throw insecure(text) }
    }

    private static func insecure(_ text: String) -> OAuthError {
        .insecureEndpoint(url: ShownText.url(text))
    }
}
