import CurlEngine
import Testing

@testable import TrellisCore

/// The choice of an endpoint, as a value with random numbers from a seed.
struct EndpointBalanceTests {
    /// Endpoints whose requests the test begins and ends.
    struct World {
        var balance: EndpointBalance
        var now = EngineInstant(nanoseconds: 1_000_000_000_000)

        /// Creates endpoints `a`, `b`, … with weights.
        init(_ weights: [Int], _ policy: EndpointPolicy, _ change: (inout EndpointPool) -> Void = { _ in }) throws {
            var pool = EndpointPool([], policy: policy)
            pool.seed = 7
            change(&pool)
            balance = EndpointBalance(pool)
            _ = balance.replace(by: try Self.endpoints(weights))
        }

        static func endpoints(_ weights: [Int]) throws -> [Endpoint] {
            try zip("abcdefghij".unicodeScalars, weights).map { try Endpoint(host: "\($0)", weight: $1) }
        }

        mutating func choose(_ key: String? = nil, besides used: Set<String> = []) throws -> EndpointBalance.Choice {
            let choice = balance.choose(key: key, besides: used, at: now)
            return try #require(choice)
        }

        /// Sends a request that ends at once. Returns its endpoint.
        @discardableResult
        mutating func send(
            _ outcome: CircuitBreaker.Outcome = .success, key: String? = nil, besides used: Set<String> = []
        ) throws -> String {
            let choice = try choose(key, besides: used)
            _ = balance.end(choice, outcome, at: now)
            balance.leave(choice)
            return choice.endpoint.host
        }

        /// Sends requests to one endpoint that fail, until it is ejected.
        mutating func eject(_ host: String) throws {
            let others = Set(balance.members.map(\.endpoint.address)).subtracting([host])
            while balance.members.contains(where: { $0.endpoint.host == host && !$0.health.isEjected }) {
                try send(.failure, besides: others)
            }
        }

        /// The numbers of requests in flight.
        var inFlight: [Int] { balance.members.map(\.inFlight) }
    }

    /// Returns the number of each host.
    func counts(_ hosts: [String]) -> [String: Int] { hosts.reduce(into: [:]) { $0[$1, default: 0] += 1 } }

    // MARK: Policies

    @Test func aRoundGivesEachItsWeightSpreadOverTheRound() throws {
        var world = try World([5, 1, 1], .roundRobin)
        #expect(try (0..<7).map { _ in try world.send() } == ["a", "a", "b", "a", "c", "a", "a"])
        var equal = try World([1, 1, 1], .roundRobin)
        #expect(try (0..<6).map { _ in try equal.send() } == ["a", "b", "c", "a", "b", "c"])
    }

    @Test func theLeastLoadedEndpointIsChosenByWeight() throws {
        var world = try World([1, 2, 1], .leastRequests)
        for _ in 0..<400 { _ = try world.choose() }
        #expect(world.inFlight == [100, 200, 100])
    }

    @Test func withoutLoadTheLeastLoadedAreChosenInTurn() throws {
        var world = try World([1, 2, 1], .leastRequests)
        #expect(counts(try (0..<400).map { _ in try world.send() }) == ["a": 100, "b": 200, "c": 100])
    }

    @Test func twoChoicesFollowTheWeightsAndLevelTheLoad() throws {
        var idle = try World([1, 2, 1], .powerOfTwoChoices)
        let share = counts(try (0..<4_000).map { _ in try idle.send() })
        #expect((900...1_100).contains(share["a"] ?? 0) && (900...1_100).contains(share["c"] ?? 0))
        var busy = try World([1, 1, 1, 1], .powerOfTwoChoices)
        for _ in 0..<400 { _ = try busy.choose() }
        #expect(busy.inFlight.allSatisfy { (98...102).contains($0) })
    }

    @Test func theSameSeedMakesTheSameChoices() throws {
        var (one, other) = (try World([1, 1, 1], .powerOfTwoChoices), try World([1, 1, 1], .powerOfTwoChoices))
        #expect(try (0..<100).map { _ in try one.send() } == (0..<100).map { _ in try other.send() })
    }

    // MARK: Keys

    static let keys = (0..<10_000).map { "key-\($0)" }

    @Test func aKeyStaysAndOnlyTheKeysOfAnEndpointThatLeavesMove() throws {
        var world = try World(Array(repeating: 1, count: 10), .sticky(by: .request))
        let before = try Self.keys.map { try world.send(key: $0) }
        #expect(try Self.keys.map { try world.send(key: $0) } == before)
        #expect(counts(before).values.allSatisfy { (850...1_150).contains($0) })
        let rest = try World.endpoints(Array(repeating: 1, count: 10)).filter { $0.host != "d" }
        #expect(world.balance.replace(by: rest).map(\.host) == ["d"])
        let after = try Self.keys.map { try world.send(key: $0) }
        #expect(zip(before, after).filter { $0 != $1 }.allSatisfy { $0.0 == "d" })
        #expect(!after.contains("d"))
    }

    @Test func keysFollowTheWeights() throws {
        var world = try World([1, 3], .sticky(by: .request))
        let share = counts(try Self.keys.map { try world.send(key: $0) })
        #expect((7_250...7_750).contains(share["b"] ?? 0))
    }

    @Test func requestsWithoutAKeyAreSpread() throws {
        var world = try World([1, 1], .sticky(by: .request))
        #expect(counts(try (0..<100).map { _ in try world.send() }).count == 2)
    }

    /// A retry of a request with a key goes to the next endpoint of the key, which is the same for all of its retries.
    @Test func aRetryHasTheSecondEndpointOfItsKey() throws {
        var world = try World([1, 1, 1], .sticky(by: .request))
        let first = try world.send(key: "x")
        let second = try world.send(key: "x", besides: [first])
        #expect(second != first)
        #expect(try world.send(key: "x", besides: [first]) == second)
    }

    @Test(arguments: [1.0, 0.5, 0.3, 1e-9, 0.999_999, 3, 1e9])
    func theLogarithmIsExact(_ number: Double) {
        // 2 to the power of the logarithm, by squares of the square root.
        var (rest, power, factor) = (number.binaryLogarithm, 1.0, 2.0)
        while rest < 0 { (rest, power) = (rest + 1, power / 2) }
        while rest >= 1 { (rest, power) = (rest - 1, power * 2) }
        for _ in 0..<60 {
            (factor, rest) = (factor.squareRoot(), rest * 2)
            if rest >= 1 { (power, rest) = (power * factor, rest - 1) }
        }
        #expect(abs(power / number - 1) < 1e-9)
    }

    // MARK: Retries, ejection, zones

    @Test func usedEndpointsComeLast() throws {
        var world = try World([1, 1, 1], .roundRobin)
        for _ in 0..<10 { #expect(try world.send(besides: ["a", "b"]) == "c") }
        #expect(counts(try (0..<9).map { _ in try world.send(besides: ["a", "b", "c"]) }).count == 3)
    }

    @Test func ejectedEndpointsGetNothingAndAShareStays() throws {
        var world = try World([1, 1, 1, 1], .roundRobin)
        try world.eject("a")
        try world.eject("b")
        for _ in 0..<10 { try world.send(.failure, besides: ["d"]) }
        #expect(world.balance.members.map(\.health.isEjected) == [true, true, false, false])
        #expect(Set(try (0..<8).map { _ in try world.send() }) == ["c", "d"])
    }

    @Test func oneRequestTestsEachEndpointWhoseTimeIsOver() throws {
        var world = try World([1, 1, 1, 1], .roundRobin)
        try world.eject("a")
        world.now = world.now.advanced(by: .seconds(10))
        let choices = try (0..<8).map { _ in try world.choose() }
        #expect(choices.filter { $0.endpoint.host == "a" }.map(\.permit.isProbe) == [true])
        let probe = try #require(choices.first { $0.permit.isProbe })
        #expect(world.balance.end(probe, .success, at: world.now) == .returned)
        #expect(Set(try (0..<8).map { _ in try world.send() }) == ["a", "b", "c", "d"])
    }

    @Test func aRefusedEndpointComesLast() throws {
        var world = try World([1, 1], .roundRobin)
        for _ in 0..<4 {
            #expect(world.balance.choose(at: world.now) { $0.host == "a" }?.endpoint.host == "b")
        }
        #expect(world.balance.choose(at: world.now) { _ in true } != nil)
    }

    /// Endpoints a and b are in the zone of the process, c and d in another.
    func zones(_ change: (inout World) throws -> Void = { _ in }) throws -> Set<String> {
        var world = try World([], .roundRobin) { $0.zone = "near" }
        let zones = ["a": "near", "b": "near", "c": "far", "d": "far"]
        _ = world.balance.replace(by: try zones.sorted { $0.key < $1.key }.map { try Endpoint(host: $0, zone: $1) })
        try change(&world)
        return Set(try (0..<8).map { _ in try world.send() })
    }

    @Test func theOwnZoneIsFirstAndSpillsOverWithTooFewEndpoints() throws {
        #expect(try zones() == ["a", "b"])
        #expect(try zones { try $0.eject("a") } == ["b"])
        #expect(
            try zones {
                try $0.eject("a")
                try $0.eject("b")
            } == ["c", "d"])
    }

    @Test func aRetryLeavesTheZoneOnlyIfItMust() throws {
        var world = try World([], .roundRobin) { $0.zone = "near" }
        let endpoints = [("a", "near"), ("b", "near"), ("c", "far")]
        _ = world.balance.replace(by: try endpoints.map { try Endpoint(host: $0, zone: $1) })
        #expect(try world.send(besides: ["a"]) == "b")
        #expect(try world.send(besides: ["a", "b"]) == "c")
    }

    // MARK: Sets

    @Test func anEndpointThatStaysKeepsItsRequestsAndItsHealth() throws {
        var world = try World([1, 1, 1], .roundRobin)
        try world.eject("b")
        let held = try world.choose(besides: ["b", "c"])
        let left = world.balance.replace(
            by: try [Endpoint("b", weight: 9), Endpoint("a"), Endpoint("a"), Endpoint("d")])
        #expect(left.map(\.host) == ["c"])
        #expect(world.balance.members.map(\.endpoint.host) == ["b", "a", "d"])
        #expect(world.balance.members.map(\.health.isEjected) == [true, false, false])
        #expect(world.balance.members.first?.endpoint.weight == 9)
        #expect(world.inFlight == [0, 1, 0])
        world.balance.leave(held)
        #expect(world.inFlight == [0, 0, 0])
    }

    /// The place of a request is of the endpoint as it was when the request was sent.
    @Test func anEndpointThatReturnsHasNoneOfItsEarlierRequests() throws {
        var world = try World([1], .roundRobin)
        let held = try world.choose()
        _ = world.balance.replace(by: [])
        #expect(world.balance.isEmpty && world.balance.choose(at: world.now) == nil)
        _ = world.balance.replace(by: try World.endpoints([1]))
        world.balance.leave(held)
        #expect(world.balance.end(held, .failure, at: world.now) == nil)
        #expect(world.inFlight == [0])
    }
}
