import CurlEngine
import Testing

@testable import TrellisCore

/// The ejection of an endpoint and its return, as a value with instants.
struct EndpointHealthTests {
    /// An endpoint at a time that the test sets.
    struct World {
        var health: EndpointHealth
        var now = EngineInstant(nanoseconds: 1_000_000_000_000)
        var mayEject = true

        init(_ change: (inout EndpointEjection) -> Void = { _ in }) {
            var rules = EndpointEjection()
            change(&rules)
            health = EndpointHealth(rules)
        }

        /// Sends a request with an outcome.
        @discardableResult
        mutating func send(_ outcome: CircuitBreaker.Outcome) -> EndpointHealth.Change? {
            let permit = health.begin(at: now)
            return health.end(permit, outcome, mayEject: mayEject, at: now)
        }

        mutating func send(_ outcomes: [CircuitBreaker.Outcome]) -> [EndpointHealth.Change?] {
            outcomes.map { send($0) }
        }

        mutating func pass(_ time: Duration) { now = now.advanced(by: time) }

        var isAvailable: Bool { health.isAvailable(at: now) }
    }

    @Test func failuresInARowEject() {
        var world = World { $0.consecutiveFailures = 3 }
        #expect(world.send([.failure, .failure, .success, .failure, .failure]) == [nil, nil, nil, nil, nil])
        #expect(world.isAvailable && !world.health.isEjected)
        #expect(world.send(.failure) == .ejected(for: .seconds(10)))
        #expect(!world.isAvailable && world.health.isEjected)
    }

    @Test func anOutcomeThatSaysNothingDoesNotEndTheRow() {
        var world = World { $0.consecutiveFailures = 2 }
        #expect(world.send([.failure, .neutral]) == [nil, nil])
        #expect(world.send(.failure) == .ejected(for: .seconds(10)))
    }

    @Test func theRatioCountsWithinItsWindowAndFromItsLeastNumberOn() {
        var world = World { ($0.consecutiveFailures, $0.minimumRequests, $0.failureRatio) = (nil, 4, 0.5) }
        #expect(world.send([.failure, .failure, .failure]) == [nil, nil, nil])
        world.pass(.seconds(20))
        #expect(world.send([.success, .success, .failure]) == [nil, nil, nil])
        #expect(world.send(.failure) == .ejected(for: .seconds(10)))
    }

    @Test func withoutRulesForFailuresNothingEjects() {
        var world = World { ($0.consecutiveFailures, $0.failureRatio) = (nil, nil) }
        for _ in 0..<100 { #expect(world.send(.failure) == nil) }
        #expect(world.isAvailable)
    }

    /// The endpoint is ejected by its next failure, once others have returned.
    @Test func anEndpointThatMustStayIsEjectedLater() {
        var world = World { $0.consecutiveFailures = 2 }
        world.mayEject = false
        #expect(world.send([.failure, .failure, .failure]) == [nil, nil, nil])
        world.mayEject = true
        #expect(world.send(.failure) == .ejected(for: .seconds(10)))
    }

    @Test func oneRequestTestsAnEndpointWhoseTimeIsOver() {
        var world = World { $0.consecutiveFailures = 1 }
        world.send(.failure)
        world.pass(.milliseconds(9_999))
        #expect(!world.isAvailable)
        world.pass(.milliseconds(1))
        #expect(world.isAvailable)
        let probe = world.health.begin(at: world.now)
        #expect(probe.isProbe && !world.isAvailable && world.health.isEjected)
        #expect(world.health.end(probe, .success, mayEject: true, at: world.now) == .returned)
        #expect(world.isAvailable && !world.health.isEjected)
        #expect(!world.health.begin(at: world.now).isProbe)
    }

    @Test func theTimeGrowsUpToItsLimitWithEachFailedTest() {
        var world = World { ($0.consecutiveFailures, $0.maximumDuration) = (1, .seconds(60)) }
        for seconds in [10, 20, 40, 60, 60] {
            #expect(world.send(.failure) == .ejected(for: .seconds(seconds)))
            world.pass(.seconds(seconds))
        }
    }

    @Test(arguments: [(Duration.seconds(9), Duration.seconds(20)), (.seconds(10), .seconds(10))])
    func theTimeIsTheFirstAgainAfterAnEndpointHasWorkedForAsLong(_ pause: Duration, _ expected: Duration) {
        var world = World { $0.consecutiveFailures = 1 }
        world.send(.failure)
        world.pass(.seconds(10))
        #expect(world.send(.success) == .returned)
        world.pass(pause)
        #expect(world.send(.failure) == .ejected(for: expected))
    }

    @Test func aTestThatSaysNothingIsFollowedByAnother() {
        var world = World { $0.consecutiveFailures = 1 }
        world.send(.failure)
        world.pass(.seconds(10))
        #expect(world.send(.neutral) == nil)
        #expect(world.isAvailable && world.health.isEjected)
    }

    /// A stream may be suspended before its head.
    @Test func aTestThatDoesNotEndKeepsNoOtherFromBeginning() {
        var world = World { $0.consecutiveFailures = 1 }
        world.send(.failure)
        world.pass(.seconds(10))
        let hanging = world.health.begin(at: world.now)
        world.pass(.seconds(10))
        #expect(world.send(.success) == .returned)
        #expect(world.health.end(hanging, .failure, mayEject: true, at: world.now) == nil)
        #expect(!world.health.isEjected)
    }

    @Test func outcomesOfRequestsFromBeforeTheEjectionSayNothing() {
        var world = World { $0.consecutiveFailures = 1 }
        let early = world.health.begin(at: world.now)
        world.send(.failure)
        #expect(world.health.end(early, .success, mayEject: true, at: world.now) == nil)
        #expect(world.health.isEjected)
    }

    /// Settings without a sense lead to no trap.
    @Test func extremeSettings() {
        for (count, share) in [(Int.min, Double.nan), (0, -1), (-1, 5), (1, .infinity)] {
            var rules = EndpointEjection()
            (rules.consecutiveFailures, rules.minimumRequests, rules.maximumShare) = (count, count, share)
            (rules.duration, rules.maximumDuration, rules.window) = (.seconds(-1), .seconds(-1), .zero)
            var health = EndpointHealth(rules)
            let now = EngineInstant(nanoseconds: .max)
            let permit = health.begin(at: now)
            #expect(health.end(permit, .failure, mayEject: true, at: now) == .ejected(for: .zero))
            #expect(health.isAvailable(at: now))
            #expect((0...4).contains(rules.limit(of: 4)))
        }
    }

    @Test(arguments: [(0, 0), (1, 0), (2, 1), (3, 1), (10, 5)])
    func theShareThatMayBeEjectedIsRoundedDown(_ count: Int, _ limit: Int) {
        #expect(EndpointEjection().limit(of: count) == limit)
    }

    @Test func aServerThatIsNotTheOriginsHasFailed() {
        let untrusted = TrellisError(.securityFailed(.untrusted(.init(.selfSigned))))
        #expect(CircuitBreaker.Outcome(ofEndpoint: nil, error: untrusted) == .failure)
        #expect(CircuitBreaker.Outcome(ofEndpoint: 421, error: nil) == .failure)
        #expect(CircuitBreaker.Outcome(ofEndpoint: 503, error: nil) == .failure)
        #expect(CircuitBreaker.Outcome(ofEndpoint: 404, error: nil) == .success)
        #expect(CircuitBreaker.Outcome(ofEndpoint: nil, error: CancellationError()) == .neutral)
    }
}
