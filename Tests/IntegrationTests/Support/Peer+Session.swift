import Trellis
import TrellisTesting

/// The sessions have one engine: a second one is added on a busy machine if a turn of the first takes too long, and has connections of its
/// own, but many tests count connections.
extension Peer {
    /// Returns a session that trusts the peer's authority besides those of the system.
    func session() -> Session { session { _ in } }

    /// Returns a changed session that trusts the peer's authority besides those of the system.
    ///
    /// - Parameter change: A change of the session's configuration.
    func session(_ change: (inout SessionConfiguration) throws -> Void) rethrows -> Session {
        Session(configuration: try configuration(change))
    }

    /// Returns a session on a clock that trusts the peer's authority besides those of the system.
    func session(
        clock: TestClock, _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) rethrows -> Session {
        Session(configuration: try configuration(change), clock: clock)
    }

    private func configuration(
        _ change: (inout SessionConfiguration) throws -> Void
    ) rethrows -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: announcement.ca)
        try change(&configuration)
        return configuration
    }
}
