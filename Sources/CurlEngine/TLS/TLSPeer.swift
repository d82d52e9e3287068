/// The peers of TLS on the connection of a transfer. With an HTTPS proxy there are two, each with a handshake and rules.
package enum TLSPeer: Hashable, Sendable {
    /// The server of the request, perhaps inside the tunnel through a proxy.
    case server
    /// The HTTPS proxy.
    case proxy
}
