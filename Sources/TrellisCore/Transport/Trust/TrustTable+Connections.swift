package import CurlEngine

/// The rules of TLS for connections that are not a session's, such as to a server of Redis.
extension TrustTable {
    /// Creates the rules of a configuration for all hosts.
    package convenience init(_ configuration: TLSConfiguration) { self.init(configuration, forHosts: [:]) }

    /// Returns the present rules for a host, after their files were read or compared.
    ///
    /// - Throws: ``TrellisError`` if files cannot be read and have never been; `CancellationError` in a cancelled task.
    package func rules(for host: String) async throws -> TransferTrust {
        _ = try await load(host: host, proxyHost: nil, now: MonotonicClock.now())
        return trust(for: host, proxyHost: nil)
    }
}
