/// The experience of an engine with HTTP/3, by the names of pools of connections (``TransferOptions/pool``).
struct HTTP3Records {
    /// The experience with one pool.
    enum Record: Hashable {
        /// A connection was made.
        case works
        /// The connection over TCP was faster, or HTTP/3 has failed. Up to the instant, HTTP/3 is not tried.
        case lost(until: EngineInstant)
    }

    /// The time for which HTTP/3 is not tried again.
    static let pause = Duration.seconds(300)
    /// The largest number of records.
    static let limit = 1024

    private var records: [String: Record] = [:]

    /// The number of records.
    var count: Int { records.count }

    /// Returns the experience with a pool; `nil` if there is none that still counts.
    func record(of pool: String, now: EngineInstant) -> Record? {
        guard let record = records[pool] else { return nil }
        if case .lost(let end) = record, end <= now { return nil }
        return record
    }

    /// Records that a connection was made.
    mutating func didConnect(_ pool: String, now: EngineInstant) { set(.works, of: pool, now: now) }

    /// Records that HTTP/3 has lost a race, or has failed.
    mutating func didLose(_ pool: String, now: EngineInstant) {
        set(.lost(until: now.advanced(by: Self.pause)), of: pool, now: now)
    }

    /// Forgets the experience with a pool.
    mutating func forget(_ pool: String) { records[pool] = nil }

    private mutating func set(_ record: Record, of pool: String, now: EngineInstant) {
        if records.count >= Self.limit, records[pool] == nil {
            records = records.filter { if case .lost(let end) = $0.value { now < end } else { false } }
            if records.count >= Self.limit { records = [:] }
        }
        records[pool] = record
    }
}
