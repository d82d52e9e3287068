import CurlEngine

/// One of several servers of an origin: a host and a port to which connections are made instead of the URL's.
///
/// ```swift
/// try Endpoint("10.0.0.1:8443")
/// try Endpoint("[2001:db8::7]:8443", weight: 3, zone: "b")
/// try Endpoint(host: "orders-7.internal")                     // the port of the origin
/// ```
public struct Endpoint: Sendable, Hashable {
    /// The largest weight.
    static let maximumWeight = 65_535

    /// The host, a name or an address, in lower case and in ASCII form, with IPv6 addresses in brackets.
    public let host: String
    /// The port; `nil` for the origin's.
    public let port: Int?
    /// The share of the requests, relative to the weights of the other endpoints. From 1 to 65,535; a value outside is taken as the nearest
    /// one.
    public let weight: Int
    /// The name of the zone in which the endpoint is, if known: see ``EndpointPool/zone``.
    public let zone: String?

    /// Creates an endpoint from its parts.
    ///
    /// - Parameters:
    ///   - host: A name or an address.
    ///   - port: The port; the origin's if `nil`.
    ///   - weight: The share of the requests; 1 unless given.
    ///   - zone: The name of the zone; none unless given.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a host that no URL can have, or a port that is not in
    ///   1…65535.
    public init(host: String, port: Int? = nil, weight: Int = 1, zone: String? = nil) throws(TrellisError) {
        self.host = try RouteText.host(host)
        self.port = try port.map { port throws(TrellisError) in try RouteText.port(port) }
        self.weight = min(max(weight, 1), Self.maximumWeight)
        self.zone = zone
    }

    /// Reads the text `HOST` or `HOST:PORT`. An IPv6 address before a port is in brackets.
    ///
    /// - Parameters:
    ///   - text: The host, and the port if it is not the origin's.
    ///   - weight: The share of the requests; 1 unless given.
    ///   - zone: The name of the zone; none unless given.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text of another form.
    public init(_ text: String, weight: Int = 1, zone: String? = nil) throws(TrellisError) {
        var rest = text[...]
        guard IPAddress(text) == nil, let host = RouteText.part(&rest, isLast: false) else {
            try self.init(host: text, weight: weight, zone: zone)
            return
        }
        let port = try RouteText.port(rest)
        try self.init(host: String(host), port: port, weight: weight, zone: zone)
    }

    /// Creates the endpoint of an address that was looked up.
    init(_ address: IPAddress, port: Int?) {
        host = address.bracketed
        self.port = port
        (weight, zone) = (1, nil)
    }

    /// The host and the port, without which two endpoints are one.
    var address: String { port.map { "\(host):\($0)" } ?? host }
}

extension Endpoint: CustomStringConvertible {
    /// The host, and the port if it is not the origin's.
    public var description: String { address }
}
