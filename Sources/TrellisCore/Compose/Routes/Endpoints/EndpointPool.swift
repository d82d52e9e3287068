/// The servers of one origin among which a session spreads its requests: where their list comes from, how one is chosen, and when one
/// that fails is left out.
///
/// ```swift
/// configuration.endpoints["https://orders.internal"] = EndpointPool(
///     [try Endpoint("10.0.0.1:8443"), try Endpoint("10.0.0.2:8443")])
/// configuration.endpoints["https://users.internal"] = EndpointPool(addressesOf: "users.internal", every: .seconds(10))
/// configuration.endpoints["https://stock.internal"] = EndpointPool(discovery: directory)
/// ```
///
/// An endpoint is chosen for each request on the wire, so a retry, a hedge and each hop of a redirect have one of their own. The URL stays
/// what it was: it gives the `Host` field, the name in the TLS handshake and the name that the certificate must have.
/// <doc:LoadBalancing> has the rules.
public struct EndpointPool: Sendable {
    /// The origin of the list of endpoints.
    enum Source: Sendable {
        case fixed([Endpoint])
        case addresses(name: String, port: Int?, interval: Duration)
        case discovery(any ServiceDiscovery)
    }

    let source: Source
    /// The way in which an endpoint is chosen. The default is ``EndpointPolicy/powerOfTwoChoices``.
    public var policy = EndpointPolicy.powerOfTwoChoices
    /// The rules by which an endpoint that fails gets no requests for a time; `nil` if none is left out. The default is
    /// ``EndpointEjection/init()``.
    public var ejection: EndpointEjection? = EndpointEjection()
    /// The zone of this process; `nil`, the default, if zones do not matter.
    ///
    /// Requests go to endpoints of this zone (``Endpoint/zone``) while at least half of them may get requests. Otherwise they go to the
    /// endpoints of all zones.
    public var zone: String?
    /// The seed of the random numbers; `nil` if the system gives one.
    package var seed: UInt64?

    /// Creates a pool with a fixed list.
    ///
    /// - Parameters:
    ///   - endpoints: The endpoints. Of several with the same host and port, the first counts.
    ///   - policy: The way in which an endpoint is chosen; ``EndpointPolicy/powerOfTwoChoices`` unless given.
    public init(_ endpoints: [Endpoint], policy: EndpointPolicy = .powerOfTwoChoices) {
        source = .fixed(endpoints)
        self.policy = policy
    }

    /// Creates a pool whose endpoints are all addresses of a name.
    ///
    /// The session's ``SessionConfiguration/resolver`` is asked, or else the system. It is asked when a request is sent and the addresses
    /// are older than the interval; a session without requests asks nobody. The request goes to the known addresses meanwhile, unless they
    /// are older than twice the interval. An answer with a time to live is used for that time at least. If the look-up fails, the
    /// known addresses stay.
    ///
    /// - Parameters:
    ///   - name: The name, which may be another one than the host of the origin.
    ///   - port: The port of the endpoints; the origin's unless given.
    ///   - interval: The age at which the addresses are looked up again; 30 s unless given, and at least one second.
    ///   - policy: The way in which an endpoint is chosen; ``EndpointPolicy/powerOfTwoChoices`` unless given.
    public init(
        addressesOf name: String, port: Int? = nil, every interval: Duration = .seconds(30),
        policy: EndpointPolicy = .powerOfTwoChoices
    ) {
        source = .addresses(name: name, port: port, interval: max(interval, .seconds(1)))
        self.policy = policy
    }

    /// Creates a pool whose endpoints a directory of services names.
    ///
    /// - Parameters:
    ///   - discovery: The directory, which is observed from the first request on.
    ///   - policy: The way in which an endpoint is chosen; ``EndpointPolicy/powerOfTwoChoices`` unless given.
    public init(discovery: some ServiceDiscovery, policy: EndpointPolicy = .powerOfTwoChoices) {
        source = .discovery(discovery)
        self.policy = policy
    }
}

extension EndpointPool: CustomStringConvertible {
    /// The source of the endpoints and the policy in words.
    public var description: String {
        switch source {
        case .fixed(let endpoints): "EndpointPool(\(endpoints), \(policy))"
        case .addresses(let name, let port, let interval):
            "EndpointPool(addresses of \(name)\(port.map { ":\($0)" } ?? "") every \(interval), \(policy))"
        case .discovery(let discovery): "EndpointPool(\(type(of: discovery)), \(policy))"
        }
    }
}
