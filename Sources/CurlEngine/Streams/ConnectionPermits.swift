/// The places for connections of an origin, within its limits and the ``ConnectionBudget``.
struct ConnectionPermits {
    /// The number of transfers that wait for libcurl with a place for a connection.
    var reserved = 0
    /// The number of connections that are being made.
    var connecting = 0
    /// The number of places that were granted and not used yet.
    var granted = 0
    /// The number of connections beyond the ``ConnectionBudget``: libcurl has used idle connections for transfers without a place. The
    /// next places are returned instead of used.
    var excess = 0
    /// The number of connections whose places other engines or origins wait for.
    var owed = 0
    /// Whether a place was requested and not granted yet.
    var awaitsPlace = false
}
