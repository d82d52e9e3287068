import ArgumentParser
import Trellis

/// The options about sockets, addresses and names.
struct NameOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Connect to this socket, whatever the host.", valueName: "PATH"))
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
        transform: AddressArgument.init)
    var addresses: [AddressArgument] = []

    @Option(
        help: ArgumentHelp(
            "Connect to another host and port than those of the URL, which stays as it is; parts may be empty; repeatable.",
            valueName: "HOST:PORT:HOST:PORT"),
        transform: ConnectToArgument.init)
    var connectTo: [ConnectToArgument] = []

    @Option(
        help: ArgumentHelp("Connect from this network interface, or this address.", valueName: "NAME|ADDRESS"),
        transform: SourceArgument.init)
    var interface: SourceArgument?

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

    mutating func validate() throws {
        guard !usesIPv4 || !usesIPv6 else { throw ValidationError("-4 and -6 do not go together.") }
        guard unixSocket == nil || abstractUnixSocket == nil else {
            throw ValidationError("--unix-socket and --abstract-unix-socket do not go together.")
        }
        do {
            _ = try makeRoute()
        } catch let error as TrellisError {
            throw ValidationError("\(error.reason)")
        }
        guard let doh else { return }
        do {
            _ = try DNSOverHTTPS(doh)
        } catch let error as TrellisError {
            throw ValidationError("--doh: \(error.reason)")
        }
    }

    /// The route that the options describe.
    var route: Route { (try? makeRoute()) ?? Route() }

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
        return try? DNSOverHTTPS(doh, configuration: configuration)
    }

    private func makeRoute() throws -> Route {
        var route = Route()
        if let unixSocket { route.unixSocket = try .path(unixSocket) }
        if let abstractUnixSocket { route.unixSocket = try .abstract(abstractUnixSocket) }
        for argument in addresses { try route.addresses.add(argument.text) }
        route.connectTo = connectTo.map(\.entry)
        route.source = interface?.source
        if usesIPv4 { route.addressFamily = .ipv4 }
        if usesIPv6 { route.addressFamily = .ipv6 }
        return route
    }
}

/// The argument of `--resolve`.
struct AddressArgument: Sendable {
    let text: String

    init(_ argument: String) throws {
        do {
            _ = try StaticAddresses(argument)
        } catch {
            throw ValidationError(because: error)
        }
        text = argument
    }
}

/// The argument of `--connect-to`.
struct ConnectToArgument: Sendable {
    let entry: ConnectTo

    init(_ argument: String) throws {
        do {
            entry = try ConnectTo(argument)
        } catch {
            throw ValidationError(because: error)
        }
    }
}

/// The argument of `--interface`.
struct SourceArgument: Sendable {
    let source: SourceAddress

    init(_ argument: String) throws {
        do {
            source = try SourceAddress(argument)
        } catch {
            throw ValidationError(because: error)
        }
    }
}

extension ValidationError {
    /// Creates the error of an argument that the framework does not accept.
    init(because error: any Error) { self.init((error as? TrellisError)?.reason.description ?? "\(error)") }
}
