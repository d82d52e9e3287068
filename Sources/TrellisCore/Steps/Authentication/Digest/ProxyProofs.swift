import CurlEngine
import HTTPTypes

/// The proofs that the session knows the password of a proxy (RFC 7616), for the requests for a tunnel on one route. The nonce of the proxy
/// is used again, with a higher count, until the proxy refuses it.
final class ProxyProofs: TunnelProofs, RedactedDescription {
    private let credentials: EngineConfiguration.ProxyServer.Credentials
    /// The challenge of the proxy, with the count of its nonce; `nil` until the proxy has sent one, and after a refusal.
    private let session = Locked<DigestSession?>(nil)
    /// Makes a nonce of the client.
    private let makeNonce: @Sendable () -> String

    init(
        _ credentials: EngineConfiguration.ProxyServer.Credentials,
        makeNonce: @escaping @Sendable () -> String = DigestAuthentication.makeNonce
    ) {
        self.credentials = credentials
        self.makeNonce = makeNonce
    }

    /// Returns the proofs for a proxy; `nil` if libcurl makes them, or the proxy needs none.
    static func proofs(for proxy: EngineConfiguration.ProxyServer) -> (any TunnelProofs)? {
        guard proxy.needsProofs, let credentials = proxy.credentials else { return nil }
        return ProxyProofs(credentials)
    }

    func proof(for target: String) -> TunnelProof? {
        let next = session.withLock { session -> DigestSession? in
            if session?.use() != true { session = nil }
            return session
        }
        guard let present = next else { return nil }
        var bodyHash: String?
        let challenge = present.challenge
        if !challenge.protections.isEmpty, !challenge.protections.contains(.method) {
            bodyHash = MessageDigest.hash("", challenge.algorithm.hash)
            if bodyHash == nil { return nil }
        }
        let response = DigestResponse(
            challenge: challenge, username: credentials.username, password: credentials.password, method: .connect,
            uri: target, session: present.session, nonce: present.nonce, count: present.count, bodyHash: bodyHash)
        return response.field.map { TunnelProof(field: $0, nonce: present.nonce) }
    }

    func canAnswer(_ challenges: [String], after proof: TunnelProof?, isFirst: Bool) -> Bool {
        let challenge = DigestChallenge.first(in: challenges.flatMap(AuthenticationChallenge.parse))
        return session.withLock { session in
            guard let challenge, Self.isWorthAnswering(challenge, after: proof, isFirst: isFirst) else {
                session = nil
                return false
            }
            // Other requests may have been refused with the same nonce.
            if session?.isFor(challenge) != true {
                session = DigestSession(challenge, clientNonce: makeNonce(), hasFinalURLs: true)
            }
            return true
        }
    }

    /// Returns whether a challenge is worth answering. Credentials that were refused are refused again, unless only their nonce was out of
    /// date. The proxy need not say so of a nonce that an earlier request has received: the proxy may have been restarted.
    private static func isWorthAnswering(
        _ challenge: DigestChallenge, after proof: TunnelProof?, isFirst: Bool
    ) -> Bool {
        // Without a proof, none was asked for yet, or none can be made.
        guard let proof else { return isFirst }
        return challenge.isStale || isFirst && !challenge.nonce.hasSameBytes(as: proof.nonce)
    }
}
