import ArgumentParser
import Trellis

/// The options about sockets, addresses and names.
struct NameOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Connect to this socket, whatever the host.", valueName: "PATH"), completion: .file())
    var unixSocket: String?

    @Option(
        help: ArgumentHelp(
            "Connect to this socket in Linux's abstract namespace, whatever the host.", valueName: "NAME")
    )
    var abstractUnixSocket: String?

    @Option(
        name: .customLong("resolve"),
        help: ArgumentHelp(
            "The addresses of a host for a port, which are not looked up; * is any host or any port; repeatable.",
            valueName: "HOST:PORT:ADDRESS[,ADDRESS…]"),
        transform: { text in
            _ = try accept { try StaticAddresses(text) }
            return text
        })
    var addresses: [String] = []

    @Option(
        help: ArgumentHelp(
            "Connect to another host and port than those of the URL, which stays as it is; parts may be empty; repeatable.",
            valueName: "HOST:PORT:HOST:PORT"),
        transform: { text in try accept { try ConnectTo(text) } })
    var connectTo: [ConnectTo] = []

    @Option(
        help: ArgumentHelp("Connect from this network interface, or this address.", valueName: "NAME|ADDRESS"),
        transform: { text in try accept { try SourceAddress(text) } })
    var interface: SourceAddress?

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 only.")
    var usesIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 only.")
    var usesIPv6 = false

    @Option(
        help: ArgumentHelp(
            "Look up names by asking this server by DNS over HTTPS, through the proxy if there is one. The system or --resolve knows "
                + "the server's own name, unless the proxy looks it up.",
            valueName: "URL"))
    var doh: String?

    @Option(
        help: ArgumentHelp(
            "Do not ask the server of --doh for the names of this domain, as for names of one label, of .local, .internal, .home.arpa and "
                + "/etc/hosts: the system looks them up; repeatable.",
            valueName: "DOMAIN"),
        transform: { text in try accept { try HostPattern("**.\(text)") } })
    var dohExcept: [HostPattern] = []

    /// The servers that may be reached.
    enum Egress: String, ExpressibleByArgument, CaseIterable { case any, `public` }

    @Option(
        help: ArgumentHelp(
            "Reach only addresses of the public Internet; redirects and proxies are judged too.", valueName: "public"))
    var egress = Egress.any

    @Option(
        name: .customLong("egress-allow"),
        help: ArgumentHelp(
            "Reach this network too, with --egress public: 10.1.0.0/16, or an address; repeatable.",
            valueName: "NETWORK"
        ),
        transform: { text in try accept { try IPNetwork(text) } })
    var allowedNetworks: [IPNetwork] = []

    mutating func validate() throws {
        guard egress == .public || allowedNetworks.isEmpty else {
            throw ValidationError("--egress-allow goes with --egress public.")
        }
        guard !usesIPv4 || !usesIPv6 else { throw ValidationError("-4 and -6 do not go together.") }
        guard unixSocket == nil || abstractUnixSocket == nil else {
            throw ValidationError("--unix-socket and --abstract-unix-socket do not go together.")
        }
        _ = try accept { try makeRoute() }
        if let doh { _ = try accept("--doh: ") { try DNSOverHTTPS(doh) } }
        guard doh != nil || dohExcept.isEmpty else { throw ValidationError("--doh-except needs --doh.") }
    }

    /// The route that the options describe.
    var route: Route { (try? makeRoute()) ?? Route() }

    /// The policy that the options describe, if there is one. A socket that is named may be reached.
    var egressPolicy: EgressPolicy? {
        guard egress == .public else { return nil }
        var policy = EgressPolicy.publicInternet
        policy.allowedNetworks += allowedNetworks
        policy.allowsUnixSockets = route.unixSocket != nil
        return policy
    }

    /// Returns the resolver that the options describe, if there is one. Its server is always verified, and gets no client certificate: both
    /// are options for the servers of requests. The proxies, the fixed addresses, the own address and the version of IP hold for it too;
    /// its socket is not that of the requests.
    ///
    /// - Parameters:
    ///   - trust: The versions of TLS.
    ///   - cacert: The file of further authorities that are trusted.
    ///   - proxy: The proxies of the requests.
    func resolver(_ trust: TrustOptions, cacert: String?, proxy: ProxyConfiguration) -> (any NameResolver)? {
        guard let doh else { return nil }
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: cacert)
        trust.apply(to: &configuration.tls)
        configuration.tls.clientIdentity = nil
        configuration.proxy = proxy
        let route = route
        configuration.route.addresses = route.addresses
        configuration.route.source = route.source
        configuration.route.addressFamily = route.addressFamily
        var names = LocalNames.standard
        names.hosts += dohExcept
        return try? DNSOverHTTPS(doh, localNames: names, configuration: configuration)
    }

    private func makeRoute() throws -> Route {
        var route = Route()
        if let unixSocket { route.unixSocket = try .path(unixSocket) }
        if let abstractUnixSocket { route.unixSocket = try .abstract(abstractUnixSocket) }
        for text in addresses { try route.addresses.add(text) }
        route.connectTo = connectTo
        route.source = interface
        if usesIPv4 { route.addressFamily = .ipv4 }
        if usesIPv6 { route.addressFamily = .ipv6 }
        return route
    }
}

/// Returns what the framework makes of an argument. An error of the framework becomes one of usage.
///
/// - Parameter option: The option, if the message has to name it.
func accept<Value>(_ option: String = "", _ make: () throws -> Value) throws -> Value {
    do { return try make() } catch {
        throw ValidationError(option + ((error as? TrellisError)?.reason.description ?? "\(error)"))
    }
}
