/// The names under which libcurl has the addresses of a route's hosts.
///
/// An engine's routes with their own addresses share one cache of libcurl's, with one entry for a name and port: two routes would overwrite
/// each other's addresses, and use each other's connections. libcurl therefore connects to a name that only this route has
/// (`CURLOPT_CONNECT_TO`), with the route's addresses (`CURLOPT_RESOLVE`). The URL keeps its host. The names end in `.invalid`, which
/// cannot be registered (RFC 6761, section 6.4), and are replaced in messages.
///
/// An `https` proxy keeps its name, because libcurl verifies it. For a minute, all routes with the proxy use the addresses of the last
/// route. A route that must not share a connection to it makes one for each transfer (``TransferRoute/needsOwnConnection``).
struct RouteNames {
    /// The name and port of an entry of libcurl's cache, with its addresses.
    struct Entry: Hashable {
        /// The name and port.
        let key: String
        /// The literal addresses, without brackets.
        let addresses: [String]
        /// Whether the name is one that libcurl looks up for other routes.
        var isShared = false

        /// The entry in the form of `CURLOPT_RESOLVE`. It never expires, unless its name is shared.
        var line: String {
            let list = addresses.map { $0.containsBytes(":") ? "[\($0)]" : $0 }
            return "\(isShared ? "+" : "")\(key):\(list.joined(separator: ","))"
        }
    }

    private let route: TransferRoute

    init(_ route: TransferRoute) { self.route = route }

    /// The name used instead of the host to connect to; `nil` if libcurl looks that up.
    var server: String? { route.parts.addresses == .lookedUp ? nil : "server-\(route.number).trellis.invalid" }

    /// The name used instead of the first proxy; `nil` if the proxy keeps its name: libcurl looks that up, or the name must
    /// match the certificate of an `https` proxy.
    var proxy: String? {
        guard route.parts.proxyAddresses != .lookedUp, route.firstProxy?.scheme != .https else { return nil }
        return "proxy-\(route.number).trellis.invalid"
    }

    /// The name used instead of an HTTP proxy after a SOCKS proxy that wants its address; `nil` if the proxy keeps its name, as
    /// ``proxy`` does.
    var secondProxy: String? {
        guard route.parts.secondProxyAddresses != .lookedUp, let second = route.secondProxy, second.scheme != .https
        else { return nil }
        return "second-\(route.number).trellis.invalid"
    }

    /// The entry of `CURLOPT_CONNECT_TO`; `nil` if connections are made to the host of the URL.
    var connectTo: String? {
        let target = route.parts.connectTo
        guard let server else { return target.map { "::\($0)" } }
        let port = target.map { $0[$0.prefix(beforeLast: ":").endIndex...].dropFirst() } ?? ""
        return "::\(server):\(port)"
    }

    /// Returns the entries of libcurl's cache that a transfer to a URL needs.
    func entries(for url: WireURL) -> [Entry] {
        guard route.parts.socket == nil else { return [] }
        var entries: [Entry] = []
        if let server, let addresses = route.addresses {
            let target = route.parts.connectTo
            let port = target.map { String($0[$0.prefix(beforeLast: ":").endIndex...].dropFirst()) } ?? "\(url.port)"
            entries.append(Entry(key: "\(server):\(port)", addresses: addresses))
        }
        entries += [
            entry(for: route.firstProxy, named: proxy, route.proxyAddresses),
            entry(for: route.secondProxy, named: secondProxy, route.secondProxyAddresses),
        ].compactMap { $0 }
        return entries
    }

    /// Returns the entry for a proxy under a name that stands for its host, if it has one.
    private func entry(
        for server: EngineConfiguration.ProxyServer?, named name: String?, _ addresses: [String]?
    ) -> Entry? {
        // libcurl needs no entry for an address, and cannot read one for an address in brackets.
        guard let server, let addresses, name != nil || !server.isAddress else { return nil }
        return Entry(key: "\(name ?? server.host):\(server.port)", addresses: addresses, isShared: name == nil)
    }

    /// Returns a message of libcurl's with hosts instead of names.
    func restoringHosts(in message: String, for url: WireURL) -> String {
        var message = message
        if let server {
            let host = route.parts.connectTo.map { String($0.prefix(beforeLast: ":")) } ?? url.host
            // Newer versions add the other host, which is the same one here.
            if route.parts.connectTo == nil { message = message.replacingBytes(" via \(server):\(url.port)", with: "") }
            message = message.replacingBytes(server, with: host)
        }
        if let proxy, let host = route.socketPath ?? route.firstProxy?.host {
            message = message.replacingBytes(proxy, with: host)
        }
        if let secondProxy, let host = route.secondProxy?.host {
            message = message.replacingBytes(secondProxy, with: host)
        }
        return message
    }
}

extension String {
    fileprivate func replacingBytes(_ text: String, with replacement: String) -> String {
        var (result, rest) = ("", self[...])
        while let range = rest.utf8.firstRange(of: text.utf8) {
            result += rest[..<range.lowerBound] + replacement
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}

/// The entries that libcurl's cache of addresses holds for routes. Their number is bounded: the ones that were added first are removed,
/// except the ones that the present transfer needs. The entries of shared names are added for each transfer, and expire by themselves.
struct LoadedAddresses {
    /// The number of entries from which on old ones are removed.
    static let limit = 1024

    private var entries: [String: [String]] = [:]
    private var order = FIFO<String>()

    /// Returns the lines of `CURLOPT_RESOLVE` that bring libcurl's cache up to date; `nil` if it is.
    mutating func lines(for wanted: [RouteNames.Entry]) -> HeaderLines? {
        var lines = wanted.filter(\.isShared).map(\.line)
        for entry in wanted where !entry.isShared && entries[entry.key] != entry.addresses {
            if entries.updateValue(entry.addresses, forKey: entry.key) == nil { order.append(entry.key) }
            lines.append(entry.line)
        }
        guard !lines.isEmpty else { return nil }
        for _ in 0..<order.count where entries.count > Self.limit {
            guard let oldest = order.popFirst() else { break }
            if wanted.contains(where: { $0.key == oldest }) {
                order.append(oldest)
                continue
            }
            entries[oldest] = nil
            lines.append("-\(oldest)")
        }
        return HeaderLines(lines: lines)
    }
}
