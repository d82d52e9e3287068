import HTTPTypes

/// One of the ways to authenticate that a server offers, as its `WWW-Authenticate` fields list them (RFC 9110, section 11.6.1).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme as it is written: `Basic`, `Digest`, `Bearer`. Schemes are the same in any case.
    public let scheme: String
    /// The parameters, by name in lower case. Of one that is repeated the first counts.
    public let parameters: [String: String]
    /// What some schemes have instead of parameters.
    public let token68: String?

    /// A challenge.
    public init(scheme: String, parameters: [String: String] = [:], token68: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// What the credentials are for, in words of the server.
    public var realm: String? { parameters["realm"] }

    /// Whether it is a challenge of this scheme.
    public func isScheme(_ name: String) -> Bool { scheme.lowercased() == name.lowercased() }
}

extension Response {
    /// What `WWW-Authenticate` offers, in its order, however many fields it is spread over. A challenge that breaks the grammar
    /// is left out, the others stay.
    public var authenticationChallenges: [AuthenticationChallenge] {
        headerFields[values: .wwwAuthenticate].flatMap(AuthenticationChallenge.parse)
    }
}
