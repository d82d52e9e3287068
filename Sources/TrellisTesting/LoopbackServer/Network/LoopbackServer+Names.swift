import CurlEngine
public import TrellisCore

extension LoopbackServer {
    /// Returns a configuration with which a session reaches this server by every name, and trusts it.
    ///
    /// The names of URLs such as `url("/", host: "api.example.com")` lead to this server, without DNS; literal addresses and `localhost`
    /// need no lookup. If the server uses TLS, its ``authority`` is the only one that is trusted. The faults of the name and of the
    /// connecting happen in the lookups of such a session, each of which counts as a request.
    ///
    /// - Parameter base: The configuration with all other settings.
    public func sessionConfiguration(_ base: SessionConfiguration = SessionConfiguration()) -> SessionConfiguration {
        var configuration = base
        configuration.resolver = LoopbackResolver(address: address == .ipv6 ? "::1" : "127.0.0.1", schedule: schedule)
        if let authority { configuration.tls.authorities = authority.tlsConfiguration.authorities }
        return configuration
    }
}

/// A resolver that knows one server, under every name.
private struct LoopbackResolver: NameResolver {
    /// An address of this machine at which nothing listens on the server's port.
    private static let refusing = "127.0.0.2"

    let address: String
    let schedule: FaultSchedule

    func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
        for fault in schedule.next(.lookup, nil) {
            if case .latency(let duration, _) = fault {
                try await schedule.pause(for: duration, of: fault)
                continue
            }
            schedule.begin(fault)
            switch fault {
            case .unresolvedName: throw TrellisError(.connectionFailed(.nameResolution("planned by the test")))
            case .silence: return try ResolvedAddresses([SilentPort.address], timeToLive: .zero)
            default: return try ResolvedAddresses([Self.refusing], timeToLive: .zero)
            }
        }
        return try ResolvedAddresses([address], timeToLive: .zero)
    }
}
