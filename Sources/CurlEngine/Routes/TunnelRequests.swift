/// The requests of a transfer for a tunnel through its proxy: their number, and the proofs that libcurl does not make itself.
struct TunnelRequests {
    /// The number of requests for a tunnel: one without a proof of the credentials, one with it, and one with a newer nonce. Each of them
    /// may be repeated on another connection.
    private static let limit = 6
    /// The number of challenges in one response that are read.
    private static let challengeLimit = 16
    /// The length of the longest line with challenges that is read, in bytes.
    private static let longestChallenge = 8 << 10

    /// The number of requests for a tunnel.
    private var count = 0
    /// The number of requests for a tunnel that the proxy has refused, if libcurl does not make the proofs for them.
    private var refusals = 0
    /// The proof of the last request for a tunnel; `nil` if it had none, or libcurl has made it.
    var proof: TunnelProof?
    /// The challenges in the response to the last request for a tunnel, if libcurl does not answer them.
    private var challenges: [String] = []

    /// Counts a request for a tunnel. Returns whether there were too many.
    mutating func didAsk() -> Bool {
        count += 1
        challenges = []
        return count >= Self.limit
    }

    /// Reads a line of the head of a response to a request for a tunnel.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        guard line.count <= Self.longestChallenge, challenges.count < Self.challengeLimit else { return }
        let text = unsafe String(decoding: line, as: UTF8.self)
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text[..<colon].lowercasedASCII() == "proxy-authenticate"
        else { return }
        var value = text.utf8[colon...].dropFirst().drop { $0 <= 0x20 }
        while let last = value.last, last <= 0x20 { value = value.dropLast() }
        challenges.append(String(Substring(value)))
    }

    /// Returns whether the handshakes are made again after the proxy has refused a tunnel, because it asks for a proof that can be made.
    mutating func mayAskAgain(with proofs: any TunnelProofs) -> Bool {
        let isFirst = refusals == 0
        refusals += 1
        return proofs.canAnswer(challenges, after: proof, isFirst: isFirst)
    }
}

extension EngineConfiguration.ProxyServer {
    /// Whether the proxy wants proofs that libcurl would make from the credentials of the SOCKS proxy in front of it. They are
    /// made here instead (``TunnelProofs``).
    package var needsProofs: Bool {
        credentials?.isDigest == true && first?.credentials != nil
            && !LibcurlFeatures.current.separatesProxyCredentials
    }
}
