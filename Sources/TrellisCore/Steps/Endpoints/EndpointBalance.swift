import CurlEngine

/// The endpoints of one origin, as a value: their requests in flight, their health, and the choice of one for a request.
struct EndpointBalance: Sendable {
    /// One endpoint.
    struct Member: Sendable {
        /// The number of the endpoint among those that the origin has had.
        let number: Int
        fileprivate(set) var endpoint: Endpoint
        fileprivate(set) var health: EndpointHealth
        /// The number of requests that were sent there and have not ended.
        fileprivate(set) var inFlight = 0
        /// What the endpoint is owed in a round, in weights.
        fileprivate var credit = 0
        /// The number that makes the scores of keys differ between endpoints.
        fileprivate let seed: UInt64
    }

    /// The endpoint for a request.
    struct Choice: Hashable, Sendable {
        let number: Int
        let endpoint: Endpoint
        let permit: EndpointHealth.Permit
    }

    private let policy: EndpointPolicy
    private let ejection: EndpointEjection?
    private let zone: String?
    private var random: EndpointRandom
    private(set) var members: [Member] = []
    /// The places of the endpoints among ``members``, by number.
    private var places: [Int: Int] = [:]
    private var lastNumber = 0

    init(_ pool: EndpointPool) {
        (policy, ejection, zone) = (pool.policy, pool.ejection, pool.zone)
        random = EndpointRandom(seed: pool.seed ?? .random(in: 0...(.max)))
    }

    /// Whether there is no endpoint.
    var isEmpty: Bool { members.isEmpty }

    // MARK: The set

    /// Replaces the set of endpoints. One that stays keeps its requests and its health. Returns those that have left.
    mutating func replace(by endpoints: [Endpoint]) -> [Endpoint] {
        var known: [String: Member] = [:]
        for member in members { known[member.endpoint.address] = member }
        var (next, addresses): ([Member], Set<String>) = ([], [])
        for endpoint in endpoints where addresses.insert(endpoint.address).inserted {
            var member = known.removeValue(forKey: endpoint.address) ?? made(endpoint)
            member.endpoint = endpoint
            next.append(member)
        }
        members = next
        places = Dictionary(uniqueKeysWithValues: next.enumerated().map { ($1.number, $0) })
        return known.values.map(\.endpoint)
    }

    private mutating func made(_ endpoint: Endpoint) -> Member {
        lastNumber += 1
        return Member(
            number: lastNumber, endpoint: endpoint, health: EndpointHealth(ejection),
            seed: Checksum64.of(endpoint.address))
    }

    // MARK: A request

    /// Chooses the endpoint of a request, which is in flight from then on; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - key: The key by which the request stays with an endpoint; `nil` if it has none.
    ///   - used: The addresses of endpoints to which the call was sent without success. Others are chosen, if there are any.
    ///   - isRefused: Returns whether something else keeps requests from an endpoint. Others are chosen, if there are any.
    mutating func choose(
        key: String? = nil, besides used: Set<String> = [], at now: EngineInstant,
        isRefused: (Endpoint) -> Bool = { _ in false }
    ) -> Choice? {
        let candidates = candidates(besides: used, at: now, isRefused: isRefused)
        guard let place = pick(candidates, key) else { return nil }
        members[place].inFlight += 1
        let permit = members[place].health.begin(at: now)
        return Choice(number: members[place].number, endpoint: members[place].endpoint, permit: permit)
    }

    /// Records the outcome of a request: its response's head, or its error. Returns the change of the endpoint, if there is one.
    mutating func end(
        _ choice: Choice, _ outcome: CircuitBreaker.Outcome, at now: EngineInstant
    ) -> EndpointHealth.Change? {
        guard let place = places[choice.number] else { return nil }
        let limit = ejection?.limit(of: members.count) ?? 0
        // Counted only where it matters.
        let mayEject = outcome == .failure && members.count { $0.health.isEjected } < limit
        return members[place].health.end(choice.permit, outcome, mayEject: mayEject, at: now)
    }

    /// Records that a request is no longer in flight.
    mutating func leave(_ choice: Choice) {
        if let place = places[choice.number] { members[place].inFlight -= 1 }
    }

    // MARK: The candidates

    /// Returns the places of the endpoints among which the policy chooses.
    private func candidates(
        besides used: Set<String>, at now: EngineInstant, isRefused: (Endpoint) -> Bool
    ) -> [Int] {
        let healthy = members.indices.filter { members[$0].health.isAvailable(at: now) }
        // Nothing is better than an endpoint that may fail.
        let present = healthy.isEmpty ? Array(members.indices) : healthy
        let open = narrowed(present) { !isRefused(members[$0].endpoint) }
        let fresh = used.isEmpty ? open : narrowed(open) { !used.contains(members[$0].endpoint.address) }
        guard let zone else { return fresh }
        let total = members.count { $0.endpoint.zone == zone }
        let near = open.count { members[$0].endpoint.zone == zone }
        return near * 2 >= total ? narrowed(fresh) { members[$0].endpoint.zone == zone } : fresh
    }

    /// Returns the places that fulfil a condition; all if none does.
    private func narrowed(_ places: [Int], _ condition: (Int) -> Bool) -> [Int] {
        let some = places.filter(condition)
        return some.isEmpty ? places : some
    }

    // MARK: The policies

    private mutating func pick(_ candidates: [Int], _ key: String?) -> Int? {
        guard candidates.count > 1 else { return candidates.first }
        switch policy {
        case .roundRobin: return nextInRound(candidates)
        case .leastRequests: return nextInRound(leastLoaded(candidates))
        case .powerOfTwoChoices: return betterOfTwo(candidates)
        case .sticky: return key.flatMap { best(of: candidates, for: $0) } ?? betterOfTwo(candidates)
        }
    }

    /// Returns the endpoint that is owed most. In a round of as many requests as the sum of the weights, each gets its weight.
    private mutating func nextInRound(_ candidates: [Int]) -> Int? {
        guard var best = candidates.first else { return nil }
        var total = 0
        for place in candidates {
            members[place].credit += members[place].endpoint.weight
            total += members[place].endpoint.weight
            if members[place].credit > members[best].credit { best = place }
        }
        members[best].credit -= total
        return best
    }

    private func leastLoaded(_ candidates: [Int]) -> [Int] {
        var least: [Int] = []
        for place in candidates {
            guard let first = least.first else {
                least = [place]
                continue
            }
            if isLessLoaded(place, than: first) {
                least = [place]
            } else if !isLessLoaded(first, than: place) {
                least.append(place)
            }
        }
        return least
    }

    private func isLessLoaded(_ one: Int, than other: Int) -> Bool {
        members[one].inFlight * members[other].endpoint.weight < members[other].inFlight * members[one].endpoint.weight
    }

    private mutating func betterOfTwo(_ candidates: [Int]) -> Int? {
        guard let first = draw(candidates), let second = draw(candidates, besides: first) else { return nil }
        return isLessLoaded(second, than: first) ? second : first
    }

    /// Draws an endpoint by weight.
    private mutating func draw(_ candidates: [Int], besides excluded: Int? = nil) -> Int? {
        let total = candidates.reduce(0) { $0 + ($1 == excluded ? 0 : members[$1].endpoint.weight) }
        guard total > 0 else { return nil }
        var rest = Int.random(in: 0..<total, using: &random)
        for place in candidates where place != excluded {
            rest -= members[place].endpoint.weight
            if rest < 0 { return place }
        }
        return nil
    }

    /// Returns the endpoint with the best score for a key. An endpoint wins with a chance in proportion to its weight, whatever
    /// other endpoints there are.
    private func best(of candidates: [Int], for key: String) -> Int? {
        let hash = Checksum64.of(key)
        func score(_ place: Int) -> Double {
            let bits = EndpointRandom.mixed(hash ^ members[place].seed)
            // Between 0 and 1, and neither of them.
            let share = (Double(bits >> 11) + 0.5) / 0x1p53
            return -share.binaryLogarithm / Double(members[place].endpoint.weight)
        }
        return candidates.map { (score($0), $0) }.min { $0.0 < $1.0 }?.1
    }
}
