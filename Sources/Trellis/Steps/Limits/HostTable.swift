import CurlEngine

/// The state that a limit keeps for one host.
protocol HostState: Sendable {
    /// Returns whether the state can be removed without losing information.
    mutating func isForgettable(at now: EngineInstant) -> Bool
}

/// The states that a limit keeps, by host. States that can be removed without loss are removed when there are many hosts.
struct HostTable<State: HostState>: Sendable {
    /// The number of hosts up to which no state is removed.
    static var cleanUpThreshold: Int { 1024 }

    private var states: [String: State] = [:]
    /// The number of hosts at which states are removed the next time.
    private var nextCleaning = cleanUpThreshold
    private let make: @Sendable () -> State

    /// Creates an empty table.
    ///
    /// - Parameter make: Makes the state of a new host.
    init(_ make: @escaping @Sendable () -> State) { self.make = make }

    var count: Int { states.count }

    /// Changes the state of a host.
    mutating func withState<Result>(
        of host: String, at now: EngineInstant, _ body: (inout State) -> Result
    ) -> Result {
        if states.count >= nextCleaning, states[host] == nil { clean(at: now) }
        return body(&states[host, default: make()])
    }

    private mutating func clean(at now: EngineInstant) {
        // States are copied to a new table, because a dictionary that has been large keeps its capacity.
        states = states.compactMapValues { state in
            var state = state
            return state.isForgettable(at: now) ? nil : state
        }
        // If most states are in use, the next new host must not start the removal again.
        nextCleaning = max(Self.cleanUpThreshold, states.count * 2)
    }
}
