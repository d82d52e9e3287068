import CurlEngine

/// What a server asks of Digest authentication (RFC 7616, section 3.3).
struct DigestChallenge: Hashable, Sendable {
    /// What the answer protects.
    enum Protection: String, Hashable, Sendable {
        case method = "auth"
        case methodAndBody = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: DigestAlgorithm
    /// As the server spelled it, to be repeated; `nil`: it did not.
    let algorithmName: String?
    /// What the server knows, none for one of before RFC 2617.
    let protections: [Protection]
    /// The credentials were right, and only the nonce was too old.
    let isStale: Bool
    /// The server wants the hash of the user's name in its place.
    let hashesUser: Bool
    /// The server reads names and passwords as UTF-8.
    let isUTF8: Bool

    /// `nil` for another scheme, and for what is not understood.
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
        let names = parameters["qop"].map { FieldScanner.elements(of: $0.lowercased()) } ?? []
        protections = names.compactMap { name in
            var scanner = FieldScanner(name)
            return scanner.token().flatMap(Protection.init)
        }
        // What is none of those that are known cannot be given.
        guard protections.isEmpty == (parameters["qop"] == nil) else { return nil }
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
        isUTF8 = parameters["charset"]?.lowercased() == "utf-8"
    }

    /// The first that can be answered here: the server lists them in the order of its preference (RFC 7616, section 3.7).
    static func first(in challenges: [AuthenticationChallenge]) -> DigestChallenge? {
        challenges.lazy.compactMap(DigestChallenge.init).first { $0.algorithm.hash.isAvailable }
    }
}
