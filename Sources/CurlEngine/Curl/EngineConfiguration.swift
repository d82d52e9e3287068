/// The settings that all transfers of an engine share.
package struct EngineConfiguration: Sendable {
    /// The time in seconds after which an idle connection is not reused.
    package var idleLifetimeSeconds = 45
    /// The age in seconds after which a connection is not reused; 0 if there is no limit.
    package var maximumLifetimeSeconds = 3600
    /// The largest number of connections that are kept.
    package var maximumConnections = 256
    /// The time in milliseconds after which the system ends a connection whose peer does not take sent bytes; 0 for the system's own limit.
    package var sendingLimitMilliseconds: UInt32 = 120_000
    /// The bound on lookups of host names, which all engines with a copy of this configuration share.
    package var lookups = LookupLimit()

    /// The bound on shared connections, to one origin and in total, which all engines with a copy of this configuration share.
    package var connections = ConnectionBudget()

    /// Indicates whether connections from local addresses that the machine loses are not used for further requests.
    package var followsNetworkChanges = true

    /// The header lines of requests whose ``TransferOptions/headerLines`` are `nil`.
    package var defaultHeaderLines = HeaderLines()

    /// The observer of the connections; `nil` if they are not observed.
    package var connectionObserver: (any ConnectionObserver)?

    /// Creates a configuration with the default values.
    package init() {}
}
