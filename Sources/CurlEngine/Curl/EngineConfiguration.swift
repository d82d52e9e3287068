/// The settings that all transfers of an engine share.
package struct EngineConfiguration: Hashable, Sendable {
    /// The servers that are trusted.
    package enum Trust: Hashable, Sendable {
        /// The system's certificates are trusted, and those of a PEM file if one is given.
        case system(additionalFile: String?)
        /// Every server is trusted: no certificate is verified.
        case nothing
    }

    /// The servers that are trusted. The default is the system's certificates.
    package var trust = Trust.system(additionalFile: nil)
    /// The time in seconds after which an idle connection is not reused.
    package var idleLifetimeSeconds = 45
    /// The age in seconds after which a connection is not reused; 0 if there is no limit.
    package var maximumLifetimeSeconds = 3600
    /// The largest number of connections that are kept.
    package var maximumConnections = 256
    /// The path of a Unix domain socket to which all requests go instead of the host in their URL.
    package var unixSocketPath: String?
    /// The proxy through which all requests go, unless there is a ``unixSocketPath``. Proxies of the environment are never used.
    package var proxy: Proxy?

    /// The bound on lookups of host names, which all engines with a copy of this configuration share.
    package var lookups = LookupLimit()

    /// The bound on shared connections to one origin, which all engines with a copy of this configuration share.
    package var connections = ConnectionBudget()

    /// The header lines of requests whose ``TransferOptions/headerLines`` are `nil`.
    package var defaultHeaderLines = HeaderLines()

    /// Creates a configuration with the default values.
    package init() {}
}
