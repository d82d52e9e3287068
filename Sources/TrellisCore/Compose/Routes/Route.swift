import CurlEngine

/// The way of requests to their servers: a socket, the address on this machine, the addresses of names.
///
/// ```swift
/// var route = Route()
/// route.addressFamily = .ipv4
/// route.addresses = try StaticAddresses("api.example.com:443:192.0.2.7,192.0.2.8", "*:80:127.0.0.1")
/// route.connectTo = [try ConnectTo("www.example.com:443:edge.example.net:8443")]
/// configuration.route = route                                        // for all requests of a session
/// let request = Request("http://localhost/containers/json").withRoute(try .unixSocket("/run/docker.sock"))
/// ```
///
/// The URL stays what it was: it gives the `Host` field, the name in the TLS handshake and the name that the certificate must have.
/// ``Metrics/peerAddress`` is the address that was connected to.
///
/// For each hop, redirects included, in this order:
///
/// 1. A ``unixSocket`` goes before everything else.
/// 2. The first ``connectTo`` that matches the URL's host and port replaces them.
/// 3. The addresses of that host come from ``addresses``, or else ``SessionConfiguration/resolver``, or else the system.
/// 4. Addresses that are not of ``addressFamily`` are left out.
/// 5. The connection is made from ``source``.
///
/// <doc:NamesAndAddresses> says what they mean through a proxy. Requests of different routes share no connections; but a route for both
/// versions of IP also takes an idle connection of a route for one.
public struct Route: Sendable, Hashable {
    /// The Unix domain socket to which requests go, regardless of the host in their URL. It takes precedence over proxies. The default is
    /// none. Cookies, credentials and limits belong to the URL's origin: for two sockets, use two hosts in the URLs.
    public var unixSocket: UnixSocket?
    /// The network interface or the address of this machine from which connections are made. The default is the system's choice.
    public var source: SourceAddress?
    /// The versions of IP that are used. The default is ``AddressFamily/any``. A literal address of another version in a URL is an error of
    /// kind ``TrellisError/Kind/invalidRequest``, a name without an address of the version one of kind ``TrellisError/Kind/dns``.
    public var addressFamily = AddressFamily.any
    /// The hosts and ports to which connections are made instead of the URL's. The first one that matches counts. None by default.
    public var connectTo: [ConnectTo] = []
    /// The addresses of names that are not looked up. None by default.
    public var addresses = StaticAddresses()

    /// Creates a route without restrictions.
    public init() {}

    /// Returns a route to a Unix domain socket: see ``UnixSocket/path(_:)``.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a path that no socket can have.
    public static func unixSocket(_ path: some FilePathConvertible) throws -> Route {
        var route = Route()
        route.unixSocket = try .path(path)
        return route
    }
}

/// The versions of IP of addresses.
public enum AddressFamily: String, Sendable, Hashable, CaseIterable {
    /// IPv4 and IPv6. Connections are attempted to addresses of both, shortly after each other (RFC 8305).
    case any
    /// IPv4 only.
    case ipv4
    /// IPv6 only.
    case ipv6
}

/// A Unix domain socket, which has a path in the file system or a name in Linux's abstract namespace.
public struct UnixSocket: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of bytes in a path or name: the system has room for 108, with a zero at the end.
    static let maximumLength = 107

    /// The path, or the name without its leading zero byte.
    public let name: String
    /// Whether the name is in the abstract namespace.
    public let isAbstract: Bool

    private init(_ name: String, isAbstract: Bool) throws(TrellisError) {
        let what = isAbstract ? "name of an abstract socket" : "path of a socket"
        guard !name.isEmpty else { throw .invalidRoute("the \(what) is empty") }
        guard !name.utf8.contains(0) else { throw .invalidRoute("the \(what) contains a zero byte") }
        guard name.utf8.count <= Self.maximumLength else {
            throw .invalidRoute("the \(what) is longer than \(Self.maximumLength) bytes")
        }
        self.name = name
        self.isAbstract = isAbstract
    }

    /// Returns the socket with a path.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the path is empty, contains a zero byte, or is longer
    ///   than 107 bytes.
    public static func path(_ path: some FilePathConvertible) throws -> UnixSocket {
        try UnixSocket(path.filePath, isAbstract: false)
    }

    /// Returns the socket with a name in the abstract namespace.
    ///
    /// - Parameter name: The name, without its leading zero byte.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the name is empty, contains a zero byte, or is longer
    ///   than 107 bytes.
    public static func abstract(_ name: String) throws(TrellisError) -> UnixSocket {
        try UnixSocket(name, isAbstract: true)
    }

    /// Returns whether the bytes of the paths or names are the same: the system distinguishes all others.
    public static func == (one: UnixSocket, other: UnixSocket) -> Bool {
        one.isAbstract == other.isAbstract && one.name.hasSameBytes(as: other.name)
    }

    /// The path, or the name after an `@`.
    public var description: String { isAbstract ? "@\(name)" : name }
}
