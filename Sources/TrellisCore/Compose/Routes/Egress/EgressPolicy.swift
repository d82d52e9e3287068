/// The servers that a session may reach, for programs that send requests to URLs which others have chosen: webhooks, feeds, agents.
///
/// ```swift
/// configuration.egress = .publicInternet
/// configuration.egress = try .publicInternet.allowing("10.1.0.0/16")
/// ```
///
/// A request that the policy refuses fails with an error of kind ``TrellisError/Kind/egressRefused``, which names the rule. It is never
/// retried. The policy holds for every request on the wire: each redirect, retry, alternative service and WebSocket, and connections in
/// advance.
///
/// Networks are compared with the address that the connection is made to, after the look-up, so a name that has changed its address in the
/// meantime gains nothing. Of several addresses of a name, those that are refused are left out. <doc:EgressPolicies> says what
/// the policy means through a proxy.
public struct EgressPolicy: Sendable, Hashable {
    /// The networks that may be reached although ``deniedNetworks`` contains them. The smallest network that contains an address
    /// decides, and for equal networks the denial. Addresses in no network of either list may be reached. None by default.
    public var allowedNetworks: [IPNetwork] = []
    /// The networks that may not be reached. An IPv6 address with which NAT64, 6to4, Teredo and their like reach an IPv4 address is in a
    /// network if either of the two is. None by default.
    public var deniedNetworks: [IPNetwork] = []
    /// The schemes of URLs that may be requested; `https` also stands for `wss`, and `http` for `ws`. The default is both.
    public var schemes: Set<String> = ["http", "https"]
    /// The ports of URLs and of alternative services that may be reached; `nil`, the default, for all.
    public var ports: Set<Int>?
    /// The hosts of URLs and of alternative services that may be reached, subject to the other rules; `nil`, the default, for all.
    public var allowedHosts: [HostPattern]?
    /// The hosts of URLs and of alternative services that may not be reached. None by default.
    public var deniedHosts: [HostPattern] = []
    /// Whether a proxy may look up the names of servers. The default is `false`: the addresses that it finds are not known here, so names
    /// that match no pattern of ``allowedHosts`` are refused if any network is denied. Set it for a proxy with rules of its own. Names are
    /// looked up here, and need nothing, for proxies of SOCKS 4 and of SOCKS 5 without remote names.
    public var allowsNamesThroughProxies = false
    /// Whether requests may go to Unix domain sockets (``Route/unixSocket``), and to proxies at them. The default is `false`.
    public var allowsUnixSockets = false

    /// Creates a policy that allows every address, and no Unix domain socket.
    public init() {}

    /// The public Internet: every address that is not special by the registries of IANA (RFC 6890). Denied are loopback, private,
    /// link-local (which cloud services use for metadata), shared (carrier-grade NAT), documentation, benchmark, multicast and reserved
    /// addresses, 6to4 and Teredo, and of IPv6 everything but global unicast addresses and the well-known prefix of NAT64 for allowed IPv4
    /// addresses. Denied is also 168.63.129.16, a public address at which virtual machines of Azure reach their host.
    public static let publicInternet: EgressPolicy = {
        var policy = EgressPolicy()
        policy.deniedNetworks = networks(
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "168.63.129.16", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "::/0", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
        policy.allowedNetworks = networks("2000::/3", "64:ff9b::/96")
        return policy
    }()

    private static func networks(_ texts: String...) -> [IPNetwork] { texts.compactMap { try? IPNetwork($0) } }

    /// Returns the policy with more allowed networks, such as `10.1.0.0/16`.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text that is not a network.
    public func allowing(_ networks: String...) throws(TrellisError) -> EgressPolicy {
        var policy = self
        for text in networks { policy.allowedNetworks.append(try IPNetwork(text)) }
        return policy
    }

    /// Returns the policy with more denied networks, such as `198.51.100.7`.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text that is not a network.
    public func denying(_ networks: String...) throws(TrellisError) -> EgressPolicy {
        var policy = self
        for text in networks { policy.deniedNetworks.append(try IPNetwork(text)) }
        return policy
    }
}

extension EgressPolicy: CustomStringConvertible {
    /// The rules in words.
    public var description: String {
        if self == .publicInternet { return "EgressPolicy.publicInternet" }
        func list(_ items: [some CustomStringConvertible]) -> String {
            "[\(items.map(\.description).joined(separator: ", "))]"
        }
        let rules = [
            "allowedNetworks: \(list(allowedNetworks))", "deniedNetworks: \(list(deniedNetworks))",
            "schemes: \(list(schemes.sorted()))", "ports: \(ports.map { list($0.sorted()) } ?? "all")",
            "allowedHosts: \(allowedHosts.map { list($0) } ?? "all")", "deniedHosts: \(list(deniedHosts))",
            "allowsNamesThroughProxies: \(allowsNamesThroughProxies)", "allowsUnixSockets: \(allowsUnixSockets)",
        ]
        return "EgressPolicy(\(rules.joined(separator: ", ")))"
    }
}
