import CCurl

extension EngineConfiguration {
    /// A proxy.
    package struct ProxyServer: Hashable, Sendable {
        /// The credentials for the proxy, without control characters.
        package struct Credentials: Hashable, Sendable {
            /// The user name.
            package let username: String
            /// The password.
            package let password: String
            /// Whether the scheme is Digest; otherwise the scheme is Basic.
            package let isDigest: Bool

            /// Creates credentials.
            package init(username: String, password: String, isDigest: Bool) {
                self.username = username
                self.password = password
                self.isDigest = isDigest
            }

            /// Returns whether the bytes are the same. Proxies with equal credentials share connections.
            package static func == (one: Credentials, other: Credentials) -> Bool {
                one.isDigest == other.isDigest && one.username.hasSameBytes(as: other.username)
                    && one.password.hasSameBytes(as: other.password)
            }
        }

        /// The protocols that are spoken with a proxy, as schemes.
        package enum Scheme: String, Hashable, Sendable {
            /// HTTP without encryption.
            case http
            /// HTTP over TLS.
            case https
            /// SOCKS 4.
            case socks4
            /// SOCKS 4A.
            case socks4a
            /// SOCKS 5; the server's name is looked up here.
            case socks5
            /// SOCKS 5; the server's name is looked up by the proxy.
            case socks5h

            /// Whether the names of servers are looked up here.
            package var looksUpServers: Bool { self == .socks4 || self == .socks5 }
            /// Whether the protocol is a version of SOCKS.
            var isSOCKS: Bool { self != .http && self != .https }
        }

        /// The protocol.
        package let scheme: Scheme
        /// The host as in a URL, with IPv6 addresses in brackets.
        package let host: String
        /// The port.
        package let port: UInt16
        /// The host and the port, such as `proxy.example:3128`, or the path of the socket, for messages.
        package let name: String
        /// The URL without credentials, for libcurl.
        package let url: String
        /// Whether the host is an IP address or a socket, which needs no lookup.
        let isAddress: Bool
        /// Whether the proxy listens at a Unix domain socket.
        package let isSocket: Bool
        /// The credentials for the proxy, if any.
        package private(set) var credentials: Credentials?
        /// The SOCKS proxy through which this one is reached; empty if there is none. At most one, in an array because a structure cannot
        /// contain itself.
        private var firsts: [ProxyServer] = []

        /// The SOCKS proxy through which this one is reached, if any.
        package var first: ProxyServer? { firsts.first }

        /// Creates a proxy.
        ///
        /// - Parameters:
        ///   - host: The host as in a URL, with IPv6 addresses in brackets.
        ///   - socketPath: The path of a Unix domain socket at which a SOCKS proxy listens; `nil` for a proxy at the host.
        package init(
            scheme: Scheme = .http, host: String, port: UInt16, socketPath: String? = nil, credentials: Credentials?
        ) {
            self.scheme = scheme
            self.host = host
            self.port = port
            name = socketPath ?? "\(host):\(port)"
            url = "\(scheme.rawValue)://" + (socketPath.map { "localhost\(Self.percentEncoded(path: $0))" } ?? name)
            isSocket = socketPath != nil
            isAddress = host.isAddress || isSocket
            self.credentials = credentials
        }

        /// Percent-encodes a path, except for its slashes and the unreserved characters of RFC 3986, section 2.3.
        private static func percentEncoded(path: String) -> String {
            path.utf8.map { byte in
                let isPlain = byte.isASCIILetterOrDigit || "/-._~".utf8.contains(byte)
                return isPlain ? String(UnicodeScalar(byte)) : byte.percentEncoded
            }.joined()
        }

        /// Returns the proxy as it is reached through a SOCKS proxy.
        package func reached(through first: ProxyServer) -> ProxyServer {
            var proxy = self
            proxy.firsts = [first]
            return proxy
        }

        /// Returns the same proxy with other credentials.
        package func with(_ credentials: Credentials) -> ProxyServer {
            var proxy = self
            proxy.credentials = credentials
            return proxy
        }
    }
}

extension UInt8 {
    fileprivate var isASCIILetterOrDigit: Bool { 0x30...0x39 ~= self || 0x41...0x5a ~= self || 0x61...0x7a ~= self }

    /// The byte in percent-encoded form (RFC 3986, section 2.1).
    package var percentEncoded: String { "%" + (self < 16 ? "0" : "") + String(self, radix: 16, uppercase: true) }
}
