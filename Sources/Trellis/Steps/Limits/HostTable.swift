import CurlEngine

/// What a limit knows about one host.
protocol HostState: Sendable {
    /// Nothing would be lost if it were forgotten.
    mutating func isForgettable(at now: EngineInstant) -> Bool
}

/// What a limit knows about each host. Hosts about which there is nothing to know any more are forgotten when there are many.
struct HostTable<State: HostState>: Sendable {
    /// How many hosts are kept without a look at what is known about them.
    static var comfortableCount: Int { 1024 }

    private var states: [String: State] = [:]
    private var nextCleaning = comfortableCount
    private let make: @Sendable () -> State

    /// - Parameter make: Makes the state of a host that is new.
    init(_ make: @escaping @Sendable () -> State) { self.make = make }

    var count: Int { states.count }

    /// Changes what is known about a host.
    mutating func withState<Result>(
        of host: String, at now: EngineInstant, _ body: (inout State) -> Result
    ) -> Result {
        if states.count >= nextCleaning, states[host] == nil { clean(at: now) }
        return body(&states[host, default: make()])
    }

    private mutating func clean(at now: EngineInstant) {
        // A new table: one that has been large stays so.
        states = states.compactMapValues { state in
            var state = state
            return state.isForgettable(at: now) ? nil : state
        }
        // Where most are in use, not again with each new one.
        nextCleaning = max(Self.comfortableCount, states.count * 2)
    }
}
