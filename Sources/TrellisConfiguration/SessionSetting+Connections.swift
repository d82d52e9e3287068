#if Configuration
import TrellisCore
import TrellisNameServices

extension SessionSetting {
    /// The settings of connections, engines and bandwidth.
    static let connections: [SessionSetting] = [
        count("limits.total", default: "256", "The maximum number of connections") {
            if let count = $1 { $0.configuration.limits.total = count }
        },
        count("limits.perOrigin", default: "64", "The maximum number of connections to one origin") {
            if let count = $1 { $0.configuration.limits.perOrigin = count }
        },
        count("limits.requestsPerOrigin", "The maximum number of requests in flight to one origin") {
            if let count = $1 { $0.configuration.limits.requestsPerOrigin = count }
        },
        seconds("limits.idleLifetime", default: "45", minimum: 1, "The time for which an unused connection is kept") {
            if let time = $1 { $0.configuration.limits.idleLifetime = time }
        },
        seconds(
            "limits.maximumLifetime", default: "3600", minimum: 1,
            "The age after which a connection gets no new request"
        ) { if let time = $1 { $0.configuration.limits.maximumLifetime = time } },
        seconds(
            "http2.pingInterval", default: "15", minimum: 1, none: "none",
            "The silence after which a server of HTTP/2 is asked for an answer while requests wait"
        ) { $0.configuration.http2.pingInterval = $1 },
        seconds("http2.pongTimeout", default: "10", minimum: 1, "The time for that answer") {
            if let time = $1 { $0.configuration.http2.pongTimeout = time }
        },
        seconds(
            "http2.idlePingInterval", default: "none", minimum: 1, none: "none",
            "The silence after which a server of HTTP/2 is asked for an answer while no request waits"
        ) { $0.configuration.http2.idlePingInterval = $1 },
        count(
            "http2.maximumStreamWindow", unit: "bytes", default: "16777216", from: 256 << 10,
            "The bytes of a body that a server may send before its reader takes them"
        ) { if let size = $1 { $0.configuration.http2.maximumStreamWindow = size } },
        count("engines", default: "automatic", through: 1_024, or: "automatic", "The number of engine threads") {
            $0.configuration.engines = $1.map(EngineCount.fixed) ?? .automatic
        },
        flag("followsNetworkChanges", default: "true", "Whether connections from lost addresses are given up") {
            $0.configuration.followsNetworkChanges = $1
        },
        count("bandwidth.upload", unit: "bytes/s", "The limit on all request bodies together") {
            if let speed = $1 { $0.upload.speed = speed }
        },
        count(
            "bandwidth.uploadBurst", unit: "bytes", default: "a tenth of bandwidth.upload",
            "The bytes of request bodies that may go at once after a pause"
        ) { $0.upload.burst = $1 },
        count("bandwidth.download", unit: "bytes/s", "The limit on all response bodies together") {
            if let speed = $1 { $0.download.speed = speed }
        },
        count(
            "bandwidth.downloadBurst", unit: "bytes", default: "a tenth of bandwidth.download",
            "The bytes of response bodies that may come at once after a pause"
        ) { $0.download.burst = $1 },
    ]

    private static let authentications = Proxy.Authentication.allCases.map { ($0.rawValue, $0) }
    private static let families = AddressFamily.allCases.map { ($0.rawValue, $0) }

    /// The settings of the ways to servers: proxies, addresses and names.
    static let routes: [SessionSetting] = [
        text(
            "proxy.url", default: "direct",
            "The URL of the proxy; `environment` for the proxies of the environment, `direct` for none",
            isSecret: true
        ) { $0.proxy.url = $1 },
        text("proxy.username", "The name for the proxy, before one in the URL", isSecret: true) {
            $0.proxy.username = $1
        },
        text("proxy.password", "The password for the proxy, before one in the URL", isSecret: true) {
            $0.proxy.password = $1
        },
        choice(
            "proxy.authentication", of: authentications, default: "any",
            "The authentication scheme of an HTTP proxy"
        ) { $0.proxy.authentication = $1 },
        text("proxy.exceptions", "The hosts that are reached directly, in the form of `no_proxy`") {
            $0.proxy.exceptions = ProxyExceptions($1)
        },
        text("proxy.script", "The URL or the path of a PAC script, instead of proxy.url", isSecret: true) {
            guard !$1.isEmpty else { throw SettingProblem("it is empty") }
            $0.proxy.script = try $1.utf8.contains("://".utf8) ? .url($1) : .file($1)
        },
        seconds("proxy.coolDown", default: "300", "The time for which a proxy that has failed is tried last") {
            $0.proxy.coolDown = $1
        },
        text("route.unixSocket", "The path of the Unix domain socket of all requests, or `@` and an abstract name") {
            let isAbstract = $1.utf8.first == UInt8(ascii: "@")
            $0.configuration.route.unixSocket =
                try isAbstract ? .abstract(String(Substring($1.utf8.dropFirst()))) : .path($1)
        },
        text("route.source", "The network interface or the address from which connections are made") {
            $0.configuration.route.source = try SourceAddress($1)
        },
        choice(
            "route.addressFamily", of: families, default: "any", "The versions of IP that are used"
        ) { $0.configuration.route.addressFamily = $1 },
        text(
            "resolver.url",
            "The URL of the server for DNS over HTTPS, instead of the system's names; asked through the proxy",
            isSecret: true
        ) { $0.resolver.url = $1 },
        texts("resolver.bootstrap", "The addresses of that server") { $0.resolver.bootstrap = $1 },
        choice("egress.policy", of: [("public", EgressPolicy.publicInternet)], "The servers that may be reached") {
            $0.egress.policy = $1
        },
        texts("egress.allowedNetworks", "The networks that may be reached too, as `10.1.0.0/16`") {
            $0.egress.allowed = try $1.map { text in try IPNetwork(text) }
        },
        texts("egress.deniedNetworks", "The networks that may not be reached either") {
            $0.egress.denied = try $1.map { text in try IPNetwork(text) }
        },
    ]
}
#endif
