import Trellis

extension Peer {
    /// Returns a session that trusts the peer's authority besides those of the system.
    func session() -> Session { session { _ in } }

    /// Returns a changed session that trusts the peer's authority besides those of the system.
    ///
    /// - Parameter change: A change of the session's configuration.
    func session(_ change: (inout SessionConfiguration) throws -> Void) rethrows -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: announcement.ca)
        try change(&configuration)
        return Session(configuration: configuration)
    }
}
