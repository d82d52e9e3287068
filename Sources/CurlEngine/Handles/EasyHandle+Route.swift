import CCurl
private import FoundationEssentials

/// The options of a transfer's way to its server.
extension EasyHandle {
    /// Sets the options of a transfer's route for handshakes on a socket that is connected with a peer. libcurl looks up nothing: addresses
    /// stand for names, unless a proxy or a certificate needs the name.
    func applyRoute(of transfer: Transfer, connectedWith peer: Peer, asking far: IPAddress?) -> Bool {
        let route = transfer.options.route
        self.route = route
        guard let proxy = route.proxy, let first = route.firstProxy else {
            guard accepts(CURLOPT_NOPROXY, ""), accepts(CURLOPT_PROXY, "") else { return false }
            // libcurl takes the socket for one to this address.
            guard let socket = route.parts.socket, !route.isConnectedByEngine else {
                return connect(to: "::127.0.0.1:")
            }
            return accepts(socket.isAbstract ? CURLOPT_ABSTRACT_UNIX_SOCKET : CURLOPT_UNIX_SOCKET_PATH, socket.name)
        }
        // libcurl takes the socket for one to an address, unless libcurl connects it.
        let near = IPAddress(peer.address)?.bracketed ?? (route.isConnectedByEngine ? "127.0.0.1" : nil)
        let far = far?.bracketed
        // The name of an HTTPS proxy must match its certificate.
        var kept: [String] = []
        for (server, address) in [(first, near), (route.secondProxy, far)] {
            guard let server, let address, server.scheme == .https, !server.isAddress else { continue }
            kept.append("+\(server.host):\(server.port):\(address)")
        }
        guard kept.isEmpty || load(HeaderLines(lines: kept)) else { return false }
        var target = route.parts.connectTo
        if let far, route.secondProxy == nil {
            target = far + ":" + (target.map { $0[$0.prefix(beforeLast: ":").endIndex...].dropFirst() } ?? "")
        }
        guard connect(to: target.map { "::\($0)" }),
            apply(
                proxy, first: first.scheme == .https ? nil : near,
                second: route.secondProxy.map { $0.scheme == .https } == false ? far : nil,
                trust: transfer.options.trust)
        else { return false }
        set(CURLOPT_HTTPPROXYTUNNEL, transfer.options.hasTunnel ? 1 : 0)
        if proxy.credentials?.isDigest == true { watchTunnel(true) }
        return proveTunnel()
    }

    /// Sets the entries of libcurl's cache of addresses that the next transfer adds.
    func load(_ addresses: HeaderLines) -> Bool {
        let last = unsafe lists.resolve
        unsafe lists.resolve = addresses.packed()
        defer { unsafe ccurl_free(last) }
        return unsafe ccurl_set_pointer(curl, CURLOPT_RESOLVE, lists.resolve) == CURLE_OK && lists.resolve != nil
    }

    func connect(to target: String?) -> Bool {
        unsafe ccurl_free(lists.connect)
        unsafe lists.connect = nil
        if let target {
            unsafe lists.connect = HeaderLines(line: target).packed()
            guard unsafe lists.connect != nil else { return false }
        }
        return unsafe ccurl_set_pointer(curl, CURLOPT_CONNECT_TO, lists.connect) == CURLE_OK
    }

    /// - Parameters:
    ///   - firstName: The name used instead of the host of the first proxy, if any.
    ///   - secondName: The name used instead of the host of a proxy after another one, if any.
    private func apply(
        _ proxy: EngineConfiguration.ProxyServer?, first firstName: String?, second secondName: String?,
        trust: TransferTrust
    ) -> Bool {
        let first = proxy?.first
        // Neither the proxies of the environment nor its exceptions apply: an empty text means no proxy.
        // Before 8.8, libcurl decodes the options for the name and the password, which it decodes again for each further connection.
        let decodes = LibcurlFeatures.current.decodesProxyCredentials
        let host = first == nil ? firstName : secondName
        let url = decodes ? proxy?.urlWithCredentials(at: host) : proxy?.url(at: host)
        guard accepts(CURLOPT_NOPROXY, ""), accepts(CURLOPT_PROXY, url ?? ""),
            accepts(CURLOPT_PRE_PROXY, first?.urlWithCredentials(at: firstName) ?? "")
        else { return false }
        let credentials = proxy?.credentials
        // GSSAPI is not offered to a SOCKS proxy.
        set(CURLOPT_SOCKS5_AUTH, 1 << 0)
        let isDigest = credentials?.isDigest == true
        let scheme = isDigest && proxy?.needsProofs != true ? 1 << 1 : 1 << 0  // CURLAUTH_DIGEST, CURLAUTH_BASIC
        return unsafe ccurl_set_long(curl, CURLOPT_PROXYAUTH, scheme) == CURLE_OK
            && accepts(CURLOPT_PROXYUSERNAME, decodes ? nil : credentials?.username)
            && accepts(CURLOPT_PROXYPASSWORD, decodes ? nil : credentials?.password)
            && setProxyHeader(proxy) && (proxy?.scheme != .https || applyToProxy(trust))
    }

    /// Sets the credentials of an HTTP proxy after a SOCKS proxy with credentials: libcurl would send the HTTP proxy the SOCKS proxy's.
    /// A libcurl that separates them has Digest authentication; with others, the proofs are made for each connection (``proveTunnel()``).
    private func setProxyHeader(_ proxy: EngineConfiguration.ProxyServer?) -> Bool {
        guard let proxy, proxy.first?.credentials != nil, proxy.needsProofs || proxy.credentials?.isDigest != true
        else { return setProxyLines(nil) }
        guard let credentials = proxy.credentials, !credentials.isDigest else { return setProxyAuthorization(nil) }
        let pair = Data("\(credentials.username):\(credentials.password)".utf8).base64EncodedString()
        return setProxyAuthorization("Basic \(pair)")
    }

    /// Sets the field `Proxy-Authorization`, which replaces libcurl's; `nil` for no such field.
    func setProxyAuthorization(_ value: String?) -> Bool {
        var lines = HeaderLines()
        if let value {
            guard lines.append(name: "Proxy-Authorization", value: value) else { return false }
        } else {
            lines.suppress("Proxy-Authorization")
        }
        return setProxyLines(lines)
    }

    private func setProxyLines(_ lines: HeaderLines?) -> Bool {
        let last = unsafe lists.proxyHeaders
        defer { unsafe ccurl_free(last) }
        unsafe lists.proxyHeaders = lines?.packed()
        guard unsafe lines == nil || lists.proxyHeaders != nil else {
            _ = unsafe ccurl_set_pointer(curl, CURLOPT_PROXYHEADER, nil)
            return false
        }
        return unsafe ccurl_set_pointer(curl, CURLOPT_PROXYHEADER, lists.proxyHeaders) == CURLE_OK
    }

    // MARK: Tunnels

    /// Counts a request for a tunnel, and ends the handshakes if there were too many.
    func didAskForTunnel() {
        guard let transfer, transfer.connection.tunnel.didAsk(), transfer.failure == nil,
            let proxy = transfer.options.route.proxy
        else { return }
        let cause = EngineFailure.ProxyCause.refused(status: 407, hasCredentials: true)
        transfer.failure = EngineFailure(kind: .proxy(name: proxy.name, cause), message: "")
        // No callback can end a transfer that has no response, but a connection that is over does.
        if let socket = transfer.wire.tls?.socket { ccurl_socket_shut_down(socket) }
    }

    /// Reads a line of the head of a response to a request for a tunnel.
    func readTunnelLine(_ line: UnsafeRawBufferPointer) {
        guard watchesTunnel, let transfer, transfer.options.route.proofs != nil else { return }
        unsafe transfer.connection.tunnel.read(line)
    }

    /// Sets the proof for the request for a tunnel on the connection that is being made, if libcurl does not make it itself. Returns
    /// `false` if libcurl would send other credentials to the proxy.
    func proveTunnel() -> Bool {
        guard let transfer, let route, let proofs = route.proofs else { return true }
        let url = transfer.options.url
        let proof = proofs.proof(for: route.parts.connectTo ?? "\(url.host):\(url.port)")
        transfer.connection.tunnel.proof = proof
        // The log is off if the last connection has ended after its tunnel was open.
        watchTunnel(true)
        return setProxyAuthorization(proof?.field) || setProxyAuthorization(nil)
    }

    /// Sets an option, and returns whether libcurl accepts it.
    func accepts(_ option: CURLoption, _ value: String?) -> Bool {
        unsafe ccurl_set_string(curl, option, value) == CURLE_OK
    }
}

extension EngineConfiguration.ProxyServer {
    /// Returns the URL with another name instead of the host.
    fileprivate func url(at name: String?) -> String { name.map { "\(scheme.rawValue)://\($0):\(port)" } ?? url }

    /// Returns the URL with percent-encoded credentials. libcurl has no other option for a proxy in front of another.
    fileprivate func urlWithCredentials(at name: String?) -> String {
        let url = url(at: name)
        guard let credentials, let mark = url.schemeMark else { return url }
        let pair = [credentials.username, credentials.password].map(Self.percentEncoded).joined(separator: ":")
        return url[..<mark.upperBound] + pair + "@" + url[mark.upperBound...]
    }

    private static func percentEncoded(_ text: String) -> String { text.utf8.map(\.percentEncoded).joined() }
}
