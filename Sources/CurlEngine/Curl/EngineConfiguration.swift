/// What all transfers of an engine have in common.
package struct EngineConfiguration: Hashable, Sendable {
    /// Where trust in servers comes from.
    package enum Trust: Hashable, Sendable {
        /// The system's certificates, and those of a PEM file.
        case system(additionalFile: String?)
        /// Nothing is verified.
        case nothing
    }

    package var trust = Trust.system(additionalFile: nil)
    /// A connection that was idle for longer is not used again.
    package var idleLifetimeSeconds = 45
    /// A connection that is older is not used again; 0: no limit.
    package var maximumLifetimeSeconds = 3600
    /// How many connections are kept.
    package var maximumConnections = 256
    /// How many connections to one host are kept.
    package var maximumConnectionsPerHost = 64
    /// All requests go to this socket instead of the host in their URL.
    package var unixSocketPath: String?
    /// All requests go through this proxy, unless there is a ``unixSocketPath``. The environment's are never used.
    package var proxy: Proxy?

    /// The lines of requests whose ``TransferOptions/headerLines`` are `nil`.
    package var defaultHeaderLines = HeaderLines()

    package init() {}
}
