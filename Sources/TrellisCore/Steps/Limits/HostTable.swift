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

    /// The places of the hosts among ``states``.
    private var places: [String: Int] = [:]
    private var states: [State] = []
    /// The host that was asked for last, with its place. Further requests to it need no search.
    private var last: (host: String, place: Int)?
    /// The URL that was asked for last, with its host and the host's place. Further requests to it need not even find their host.
    private var lastURL: (url: String, host: String, place: Int)?
    /// The number of hosts at which states are removed the next time.
    private var nextCleaning = cleanUpThreshold
    private let make: @Sendable () -> State

    /// Creates an empty table.
    ///
    /// - Parameter make: Makes the state of a new host.
    init(_ make: @escaping @Sendable () -> State) { self.make = make }

    var count: Int { states.count }

    /// Returns what a closure makes of each host and its state, in no order.
    func map<Result>(_ body: (_ host: String, State) -> Result) -> [Result] {
        places.map { body($0.key, states[$0.value]) }
    }

    /// Changes the state of a host.
    mutating func withState<Result>(
        of host: String, at now: EngineInstant, _ body: (inout State) -> Result
    ) -> Result {
        if let last, last.host.hasSameBytes(as: host) { return body(&states[last.place]) }
        let found = place(of: host, at: now)
        last = (host, found)
        return body(&states[found])
    }

    /// Changes the state of the host of a URL. Returns the host too, as ``Request/limitedHost``.
    mutating func withState<Result>(
        ofHostIn url: String, at now: EngineInstant, _ body: (inout State) -> Result
    ) -> (result: Result, host: String) {
        if let lastURL, lastURL.url.hasSameBytes(as: url) { return (body(&states[lastURL.place]), lastURL.host) }
        let host = Request.limitedHost(of: url)
        let found = place(of: host, at: now)
        // The text before an `@` may be a password.
        lastURL = url.utf8.contains(UInt8(ascii: "@")) ? nil : (url, host, found)
        return (body(&states[found]), host)
    }

    /// Returns the place of a host, whose state is made if there is none yet.
    private mutating func place(of host: String, at now: EngineInstant) -> Int {
        if let known = places[host] { return known }
        if states.count >= nextCleaning { clean(at: now) }
        states.append(make())
        places[host] = states.count - 1
        return states.count - 1
    }

    private mutating func clean(at now: EngineInstant) {
        // States are copied to a new table, because a dictionary that has been large keeps its capacity.
        var keptPlaces: [String: Int] = [:]
        var keptStates: [State] = []
        for (host, place) in places {
            var state = states[place]
            if state.isForgettable(at: now) { continue }
            keptPlaces[host] = keptStates.count
            keptStates.append(state)
        }
        (places, states, last, lastURL) = (keptPlaces, keptStates, nil, nil)
        // If most states are in use, the next new host must not start the removal again.
        nextCleaning = max(Self.cleanUpThreshold, states.count * 2)
    }
}
