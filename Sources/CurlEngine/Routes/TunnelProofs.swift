/// The proofs that a client knows the password of a proxy (RFC 7616), for the requests for a tunnel on one route. libcurl makes them
/// itself, unless it would make them from the credentials of another proxy (``EngineConfiguration/ProxyServer/needsProofs``).
package protocol TunnelProofs: AnyObject, Sendable {
    /// Returns the proof for the next request for a tunnel; `nil` if the proxy has not asked for one.
    ///
    /// - Parameter target: The host and the port that the request names.
    func proof(for target: String) -> TunnelProof?

    /// Returns whether the proxy may accept an answer to the challenges with which it has refused a tunnel.
    ///
    /// - Parameters:
    ///   - challenges: The values of the fields `Proxy-Authenticate`.
    ///   - proof: The proof that was refused; `nil` if the request had none.
    ///   - isFirst: Whether the proxy has refused no other request of the transfer before.
    func canAnswer(_ challenges: [String], after proof: TunnelProof?, isFirst: Bool) -> Bool
}

/// A proof for one request for a tunnel.
package struct TunnelProof: Sendable {
    /// The value of the field `Proxy-Authorization`.
    package let field: String
    /// The nonce of the proxy that the proof is made with.
    package let nonce: String

    /// Creates a proof.
    package init(field: String, nonce: String) {
        self.field = field
        self.nonce = nonce
    }
}
