private import CCurl

/// The transfer's requests for a tunnel through its proxy: their number, and the proofs that libcurl does not make itself.
extension Transfer {
    /// The number of requests for a tunnel: one without a proof of the credentials, one with it, and one with a newer nonce. Each
    /// may be repeated on another connection.
    private static let tunnelLimit = 6
    /// The number of challenges in one response that are read.
    private static let challengeLimit = 16
    /// The length of the longest line with challenges that is read, in bytes.
    private static let longestChallenge = 8 << 10

    /// Counts a request for a tunnel, and ends the transfer if there were too many.
    func didAskForTunnel() {
        tunnel.count += 1
        tunnel.challenges = []
        guard tunnel.count >= Self.tunnelLimit, failure == nil, let proxy = options.route.proxy else { return }
        failure = EngineFailure(
            kind: .proxy(name: proxy.name, .refused(status: 407, hasCredentials: true)), message: "")
        // No callback can end a transfer that has no response, but a connection that is over does.
        let socket = wire.tls?.socket ?? easy?.findSocket() ?? -1
        if socket >= 0 { ccurl_socket_shut_down(socket) }
    }

    /// Reads a line of the head of a response to a request for a tunnel.
    func readTunnelLine(_ line: UnsafeRawBufferPointer) {
        guard options.route.proofs != nil, (easy ?? wire.tls?.easy)?.given.watchesTunnel == true,
            line.count <= Self.longestChallenge, tunnel.challenges.count < Self.challengeLimit
        else { return }
        let text = unsafe String(decoding: line, as: UTF8.self)
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text[..<colon].lowercasedASCII() == "proxy-authenticate"
        else { return }
        var value = text.utf8[colon...].dropFirst().drop { $0 <= 0x20 }
        while let last = value.last, last <= 0x20 { value = value.dropLast() }
        tunnel.challenges.append(String(Substring(value)))
    }

    /// Starts a transfer again whose request for a tunnel was refused, if the proxy asks for a proof that can be made. What was sent
    /// before on a connection that died may be repeated.
    ///
    /// - Returns: The failure of the transfer; `nil` if it starts again.
    func considerChallenge(_ failure: EngineFailure?) -> EngineFailure? {
        guard let proofs = options.route.proofs, !isCancelled, !sending.hasBegun,
            case .proxy(_, .refused(let status, _))? = failure?.kind, status == 401 || status == 407
        else { return failure }
        let isFirst = tunnel.refusals == 0
        tunnel.refusals += 1
        guard proofs.canAnswer(tunnel.challenges, after: tunnel.proof, isFirst: isFirst) else { return failure }
        repetition.mustStartAgain = true
        return nil
    }
}

extension EasyHandle {
    /// Sets the proof for the request for a tunnel on the connection that is being made, if libcurl does not make it itself. Returns
    /// `false` if libcurl would send other credentials to the proxy.
    func proveTunnel() -> Bool {
        guard let transfer, let route, let proofs = route.proofs else { return true }
        let url = transfer.options.url
        transfer.tunnel.proof = proofs.proof(for: route.parts.connectTo ?? "\(url.host):\(url.port)")
        // The log is off if the last connection has ended after its tunnel was open.
        watchTunnel(true)
        return setProxyAuthorization(transfer.tunnel.proof?.field) || setProxyAuthorization(nil)
    }
}

extension EngineConfiguration.ProxyServer {
    /// Whether the proxy wants proofs that libcurl would make from the credentials of the SOCKS proxy in front of it, so that
    /// they are made here (``TunnelProofs``).
    package var needsProofs: Bool {
        credentials?.isDigest == true && first?.credentials != nil
            && !LibcurlFeatures.current.separatesProxyCredentials
    }
}
