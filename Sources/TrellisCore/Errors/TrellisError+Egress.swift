extension TrellisError {
    /// The rule of the session's ``EgressPolicy`` that refuses a request.
    public enum EgressRefusal: Sendable, Hashable {
        /// The address to which a connection would be made is in a denied network. Of several addresses, the first one.
        case network(IPNetwork, address: String)
        /// The scheme of the URL is not allowed.
        case scheme(String)
        /// The port is not allowed.
        case port(Int)
        /// The host is denied, or not among the allowed ones.
        case host(String)
        /// A proxy would look up the name, so that the address would not be known here.
        case nameThroughProxy(String)
        /// The request would go to a Unix domain socket, or to a proxy at one.
        case unixSocket(String)
    }
}

extension TrellisError.EgressRefusal: CustomStringConvertible {
    /// The rule in words.
    public var description: String {
        switch self {
        case .network(let network, let address): "\(address) is in the network \(network), which is denied"
        case .scheme(let scheme): "the scheme \(scheme) is not allowed"
        case .port(let port): "the port \(port) is not allowed"
        case .host(let host): "the host \(host) is not allowed"
        case .nameThroughProxy(let host): "the proxy would look up \(host), so its address is not known"
        case .unixSocket(let name): "the Unix domain socket \(name) is not allowed"
        }
    }
}
