import CurlEngine

/// A challenge of Digest authentication (RFC 7616, section 3.3).
struct DigestChallenge: Hashable, Sendable {
    /// The part of a request that the answer protects (`qop`).
    enum Protection: String, Hashable, Sendable {
        case method = "auth"
        case methodAndBody = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: DigestAlgorithm
    /// The algorithm's name as the server spelled it, to be repeated in the answer; `nil` if the server named none.
    let algorithmName: String?
    /// The protections that the server supports; empty for a server from before RFC 2617.
    let protections: [Protection]
    /// Whether the credentials were right and only the nonce was too old.
    let isStale: Bool
    /// Whether the server wants the hash of the user's name instead of the name.
    let hashesUser: Bool
    /// Whether the server reads names and passwords as UTF-8.
    let isUTF8: Bool

    /// Creates the Digest challenge of a parsed challenge; `nil` if the scheme is another one, or the parameters are not
    /// understood.
    init?(_ challenge: AuthenticationChallenge) {
        let parameters = challenge.parameters
        guard challenge.isScheme("Digest"), let realm = parameters["realm"], let nonce = parameters["nonce"],
            let algorithm = DigestAlgorithm(parameters["algorithm"])
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        algorithmName = parameters["algorithm"]
        opaque = parameters["opaque"]
        let names = parameters["qop"].map { FieldScanner.elements(of: $0.lowercasedASCII()) } ?? []
        protections = names.compactMap { name in
            var scanner = FieldScanner(name)
            return scanner.token().flatMap(Protection.init)
        }
        // A `qop` that lists unknown protections only cannot be satisfied.
        guard protections.isEmpty == (parameters["qop"] == nil) else { return nil }
        isStale = parameters["stale"]?.lowercasedASCII() == "true"
        hashesUser = parameters["userhash"]?.lowercasedASCII() == "true"
        isUTF8 = parameters["charset"]?.lowercasedASCII() == "utf-8"
    }

    /// Returns the first challenge that can be answered here: the server lists challenges in order of preference (RFC 7616,
    /// section 3.7).
    static func first(in challenges: [AuthenticationChallenge]) -> DigestChallenge? {
        challenges.lazy.compactMap(DigestChallenge.init).first { $0.algorithm.hash.isAvailable }
    }
}
