import CurlEngine

/// The errors of texts that are no URLs to which requests can be sent.
extension TrellisError {
    /// Returns the error of a text that is no absolute `http` or `https` URL. Versions of libcurl differ in what they take for a scheme, so
    /// that a text that begins with a host is recognised here.
    ///
    /// - Parameter isWebSocket: Whether the request is the handshake of a WebSocket, whose URL has the scheme `ws` or `wss`.
    static func unusableURL(_ text: String, _ failure: WireURL.ParseFailure, isWebSocket: Bool) -> TrellisError {
        switch failure {
        case .empty: return TrellisError(.invalidURL("it is empty"))
        case .malformed(let reason): return TrellisError(.invalidURL(reason))
        case .relative, .unsupportedScheme: break
        }
        if let url = text.completed(byScheme: isWebSocket ? "ws" : "http") {
            return TrellisError(.invalidURL("it has no scheme (did you mean \(URLRedaction.redact(url)) ?)"))
        }
        guard case .unsupportedScheme(let scheme) = failure else {
            return TrellisError(.invalidURL("it is not absolute"))
        }
        let schemes = isWebSocket ? "ws or wss" : "http or https"
        return TrellisError(.invalidURL("its scheme is \(scheme), not \(schemes)"))
    }
}

extension String {
    /// Returns the URL with a scheme in front; `nil` unless the text begins with a host instead of a scheme: a host with a port, an IPv6
    /// address, or a name that is `localhost` or has a dot.
    fileprivate func completed(byScheme scheme: String) -> String? {
        let authority = prefix(beforeBytes: "/?#")
        guard schemeMark == nil, let first = authority.utf8.first, Self.mayBeginHost(first),
            !authority.utf8.contains(UInt8(ascii: "@"))
        else { return nil }
        var host = authority
        var hasPort = false
        if let colon = authority.lastIndex(ofByte: ":") {
            let port = authority.utf8[colon...].dropFirst()
            hasPort = 1...5 ~= port.count && port.allSatisfy { 0x30...0x39 ~= $0 }
            if hasPort { host = authority[..<colon] }
        }
        let isAddress = first == UInt8(ascii: "[")
        guard isAddress || !host.utf8.contains(UInt8(ascii: ":")) else { return nil }
        guard hasPort || isAddress || host.lowercasedASCII() == "localhost" || host.utf8.contains(UInt8(ascii: "."))
        else {
            return nil
        }
        return "\(scheme)://\(self)"
    }

    /// Returns whether a byte may be the first one of a host: a letter, a digit, a bracket, or a byte that is not ASCII.
    private static func mayBeginHost(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= byte | 0x20 || 0x30...0x39 ~= byte || byte == UInt8(ascii: "[") || byte >= 0x80
    }
}
