import CurlEngine
import HTTPTypes

/// A way to authenticate that a server offers in its `WWW-Authenticate` fields (RFC 9110, section 11.6.1).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme as written: `Basic`, `Digest`, `Bearer`. Schemes are compared without regard to case.
    public let scheme: String
    /// The parameters, by name in lower case. The first of several parameters with the same name counts.
    public let parameters: [String: String]
    /// The text that some schemes send instead of parameters.
    public let token68: String?

    /// Creates a challenge.
    public init(scheme: String, parameters: [String: String] = [:], token68: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// The server's description of what the credentials are for (the parameter `realm`).
    public var realm: String? { parameters["realm"] }

    /// Returns whether the challenge is of this scheme, compared without regard to case.
    public func isScheme(_ name: String) -> Bool { scheme.hasSameToken(as: name) }
}

extension Response {
    /// The challenges of the `WWW-Authenticate` fields, in their order, however many fields they are spread over. A challenge
    /// that breaks the grammar is left out; the others stay.
    public var authenticationChallenges: [AuthenticationChallenge] {
        headers[values: .wwwAuthenticate].flatMap(AuthenticationChallenge.parse)
    }
}
