/// The rules of TLS for the connections of a transfer: to its server, and to the HTTPS proxy of its route. Connections are shared by
/// transfers of the same rules only.
package final class TransferTrust: Sendable {
    /// The certificate authorities that are trusted.
    package enum Authorities: Sendable {
        /// The system's.
        case system
        /// The authorities of a PEM text, and the system's too if `withSystem` is `true`.
        case pem([UInt8], withSystem: Bool)
        /// No certificate is verified: every peer is trusted.
        case unverified
        /// The authorities have not been read. Transfers with such rules fail.
        case unread
    }

    /// The versions of TLS (RFC 5246, RFC 8446).
    package enum Version: Int, Sendable {
        /// TLS 1.2.
        case v1_2
        /// TLS 1.3.
        case v1_3
    }

    /// The rules for one peer.
    package struct Rules: Sendable {
        /// The certificate authorities that are trusted.
        package var authorities = Authorities.system
        /// The file of the system's authorities.
        package var system = SystemAuthorities.Version.first
        /// The certificate revocation lists, which must cover every certificate of a chain; `nil` if revocation is not checked.
        package var revocationLists: MemoryFile?
        /// Whether the peer must send a stapled OCSP response (RFC 6066, section 8).
        package var requiresStapledResponse = false
        /// The oldest version that is accepted.
        package var minimumVersion = Version.v1_2
        /// The newest version that is accepted; `nil` for the newest that libcurl supports.
        package var maximumVersion: Version?
        /// The ciphers of TLS 1.2, as OpenSSL's list; `nil` for libcurl's.
        package var cipherList: String?
        /// The cipher suites of TLS 1.3, as OpenSSL's list; `nil` for libcurl's.
        package var cipherSuites: String?
        /// The client certificate with the certificates of its issuers and its key, as PEM, if any.
        package var identity: [UInt8]?
        /// The file to which the secrets of connections are appended, if any.
        package var keyLog: KeyLogFile?

        /// Creates rules that trust the system's authorities.
        package init() {}

        fileprivate static var unread: Rules {
            var rules = Rules()
            rules.authorities = .unread
            return rules
        }

        /// Whether TLS sessions must not be resumed. A resumed one has no stapled response and no verification, and without
        /// verification libcurl does not distinguish the sessions of different client certificates.
        fileprivate var forbidsResumption: Bool { requiresStapledResponse || (!verifies && identity != nil) }

        /// Whether certificates are verified.
        package var verifies: Bool { if case .unverified = authorities { false } else { true } }
    }

    /// The rules for servers.
    package let server: Rules
    /// The rules for an HTTPS proxy.
    package let proxy: Rules
    /// The number of the rules, from 0.
    let number: Int

    /// Whether TLS sessions with servers must not be resumed.
    let forbidsResumptionWithServer: Bool
    /// Whether TLS sessions with an HTTPS proxy must not be resumed.
    let forbidsResumptionWithProxy: Bool

    /// The rules that trust the system's authorities.
    package static let system = TransferTrust(server: Rules(), proxy: Rules(), number: 0)
    /// The rules whose files have not been read. Transfers with these rules fail.
    package static let unread = TransferTrust(server: .unread, proxy: .unread, number: 0)

    /// Creates rules. Their connections serve no other rules.
    ///
    /// - Parameter number: The number of the rules; 0 is for rules without sources. Rules for the same host have different numbers, unless
    ///   they differ only in the version of the system's file. libcurl must be able to distinguish their TLS sessions: by their contents,
    ///   or by ``marked(_:_:)``.
    package init(server: Rules, proxy: Rules, number: Int) {
        self.server = server
        self.proxy = proxy
        self.number = number
        forbidsResumptionWithServer = server.forbidsResumption
        forbidsResumptionWithProxy = proxy.forbidsResumption
    }

    /// The file with the authorities for servers, once one was needed.
    private let authorities = Locked<MemoryFile?>(nil)

    /// The path of a file with the authorities for servers, if they are a text: libcurl reads a file once for all connections of a group,
    /// and a text for each of them. `nil` if the system permits no such file. No other file has ever had the path.
    var authoritiesPath: String? {
        guard case .pem(let text, let withSystem) = server.authorities else { return nil }
        return authorities.withLock { file -> String? in
            if file == nil {
                let others = withSystem && server.system.directory == nil ? [10] + server.system.contents : []
                file = MemoryFile(text + others)
            }
            return file?.readablePath
        }
    }

    /// Returns the rules for a peer.
    func rules(for peer: TLSPeer) -> Rules {
        switch peer {
        case .server: server
        case .proxy: proxy
        }
    }

    /// Whether the pool of connections with these rules has the name of the origin alone.
    var isFirst: Bool { number == 0 && server.system.number == 0 }

    /// Returns the name of the pool of connections with these rules. The name has no blank.
    package func pool(_ name: String) -> String {
        if isFirst { return name }
        return number == 0 ? "\(name)|system-\(server.system.number)" : "\(name)|trust-\(number)"
    }

    /// The name of the pool of connections to an origin with some rules.
    final class PoolName: Sendable {
        fileprivate let number: Int
        fileprivate let systemNumber: Int
        fileprivate let text: String

        fileprivate init(_ url: WireURL, _ trust: TransferTrust) {
            (number, systemNumber) = (trust.number, trust.server.system.number)
            text = trust.pool(url.origin)
        }
    }

    /// Returns the name of the pool of connections to the origin of a URL, which keeps the first one: nearly all of its requests have the
    /// same rules.
    func pool(of url: WireURL) -> String {
        if isFirst { return url.origin }
        let known = url.poolName.load() ?? url.poolName.storeIfNil(PoolName(url, self))
        let isOfRules = known.number == number && known.systemNumber == server.system.number
        return isOfRules ? known.text : pool(url.origin)
    }

    /// Returns a PEM text with a line in front that contains a number. Parsers ignore the line. libcurl compares texts as a whole, so that
    /// it resumes no TLS session of a text with another number.
    package static func marked(_ pem: [UInt8], _ number: Int) -> [UInt8] { "# \(number)\n".utf8 + pem }
}
