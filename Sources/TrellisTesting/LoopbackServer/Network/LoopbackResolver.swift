import CurlEngine
import TrellisCore

/// A resolver that knows one server, under every name.
struct LoopbackResolver: NameResolver {
    /// An address of this machine without a listener on the server's port.
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
