/// The settings that all transfers of an engine share.
package struct EngineConfiguration: Hashable, Sendable {
    /// The source of trust in servers.
    package enum Trust: Hashable, Sendable {
        /// The system's certificates, and those of a PEM file where one is given.
        case system(additionalFile: String?)
        /// Trust in every server: no certificate is verified.
        case nothing
    }

    package var trust = Trust.system(additionalFile: nil)
    /// The time in seconds after which an idle connection is not used again.
    package var idleLifetimeSeconds = 45
    /// The age in seconds after which a connection is not used again; 0 means no limit.
    package var maximumLifetimeSeconds = 3600
    /// The largest number of connections that are kept.
    package var maximumConnections = 256
    /// The largest number of connections to one host that are kept. The engine does not apply this limit; the framework does, per
    /// origin.
    package var maximumConnectionsPerHost = 64
    /// The path of a socket that all requests go to instead of the host in their URL.
    package var unixSocketPath: String?
    /// The proxy that all requests go through, unless there is a ``unixSocketPath``. Proxies of the environment are never used.
    package var proxy: Proxy?

    /// The header lines of requests whose ``TransferOptions/headerLines`` are `nil`.
    package var defaultHeaderLines = HeaderLines()

    package init() {}
}
