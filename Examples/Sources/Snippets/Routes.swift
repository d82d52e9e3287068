import Trellis

/// A directory of proxies, as a program has it.
protocol ProxyDirectory: Sendable {
    func proxies(for host: String) async throws -> [Proxy]
}

/// The code of the article about proxies.
func addProxies(
    to configuration: inout SessionConfiguration, first: Proxy, second: Proxy, password: String,
    directory: some ProxyDirectory
) throws -> Request {
    configuration.proxy = .environment
    configuration.proxy = .always(try Proxy("https://proxy.example", username: "ada", password: password))
    configuration.proxy = .always([first, second, .direct], except: "localhost, .internal.example, 10.0.0.0/8")
    configuration.proxy = .selecting { origin in try await directory.proxies(for: origin.host) }
    let direct = Request("https://status.example/").withProxy(ProxyConfiguration.direct)
    return direct
}

func addScripts(to configuration: inout SessionConfiguration, password: String) throws {
    configuration.proxy = .automatic(try .url("https://wpad.example/proxy.pac"))
    let squid = try Proxy("http://ada:\(password)@proxy.example:3128")
    configuration.proxy = .automatic(.file("/etc/proxy.pac"), credentials: [squid])
}

/// The code of the article about names and addresses.
func addRoute(to configuration: inout SessionConfiguration) throws -> Request {
    var route = Route()
    route.addressFamily = .ipv4
    route.source = try .interface("eth1")  // or .address("192.0.2.1")
    route.addresses = try StaticAddresses("api.example.com:443:192.0.2.7,192.0.2.8", "*:80:127.0.0.1")
    route.connectTo = [try ConnectTo("www.example.com:443:edge.example.net:8443")]
    configuration.route = route
    let containers = Request("http://localhost/containers/json").withRoute(try .unixSocket("/run/docker.sock"))
    return containers
}

func addResolver(to configuration: inout SessionConfiguration) throws {
    configuration.resolver = try DNSOverHTTPS(
        "https://dns.example/dns-query", bootstrap: ["192.0.2.53", "2001:db8::53"])
}

func keepNamesLocal(in configuration: inout SessionConfiguration) throws {
    var names = LocalNames.standard
    names.hosts.append(try HostPattern("**.corp.example"))
    configuration.resolver = try DNSOverHTTPS("https://dns.example/dns-query", localNames: names)
}

/// The code of the article about reachability.
func watchNetwork() async throws {
    let reachability = NetworkReachability.shared
    print(await reachability.status)  // a value
    for await status in reachability.statuses { print(status) }  // the present one, then every change
    try await reachability.waitUntilReachable()  // until the network is there; at once if the status is unknown
}
