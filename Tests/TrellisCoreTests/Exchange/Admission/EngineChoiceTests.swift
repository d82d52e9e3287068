import Testing

@testable import TrellisCore

/// The engine on which a request begins, in a session with several engines.
struct EngineChoiceTests {
    /// A scheduler whose requests begin on the engines that it chooses.
    private struct World {
        private(set) var scheduler: ConnectionScheduler<Int>
        private var engines: [Int: (engine: Int, place: ConnectionScheduler<Int>.OriginIndex)] = [:]
        var busy: Set<Int> = []
        private var count = 0

        init(_ engines: Int, total: Int = 256, perOrigin: Int = 64) {
            scheduler = ConnectionScheduler(limits: ConnectionLimits(total: total, perOrigin: perOrigin))
            for _ in 0..<engines { _ = scheduler.addEngine { _ in 0 } }
            scheduler.activeCount = engines
        }

        mutating func activate(_ count: Int) { scheduler.activeCount = count }

        mutating func engine(for origin: String?, preferred: Int? = nil) -> Int {
            let busy = busy
            return scheduler.engine(for: origin, preferred: preferred, isBusy: busy.contains)
        }

        /// Starts a request on an engine, or on the one that is chosen. Returns the number of the request and its engine.
        @discardableResult
        mutating func start(_ origin: String, on engine: Int? = nil, mayShare: Bool = false) -> (id: Int, engine: Int) {
            let engine = engine ?? self.engine(for: origin)
            count += 1
            let entry = scheduler.enter(count, on: engine, origin: origin, mayShare: mayShare)
            engines[count] = (engine, entry.originIndex)
            return (count, engine)
        }

        mutating func start(_ count: Int, _ origin: String, on engine: Int? = nil) -> [Int] {
            (0..<count).map { _ in start(origin, on: engine).id }
        }

        mutating func end(_ ids: [Int], isShared: Bool = false) {
            for id in ids {
                guard let (engine, place) = engines[id] else { continue }
                _ = scheduler.release(id, at: place, on: engine, isShared: isShared)
            }
        }

        mutating func share(_ id: Int) {
            if let place = engines[id]?.place { _ = scheduler.probed(id, at: place, isShared: true) }
        }
    }

    // MARK: One connection after another

    @Test func requestsInSuccessionBeginOnOneEngine() {
        var world = World(4)
        for _ in 0..<20 {
            let (id, engine) = world.start("a")
            #expect(engine == 0)
            world.end([id])
        }
    }

    @Test func aRequestBeginsWhereItsOriginHasAnIdleConnection() {
        var world = World(3)
        world.end([world.start("a", on: 2).id])
        #expect(world.engine(for: "a") == 2)
        #expect(world.engine(for: "b") == 0)
        #expect(world.engine(for: nil) == 0)
    }

    @Test func ofTwoIdleConnectionsTheOneOfTheEngineWithLessToDoIsUsed() {
        var world = World(2)
        world.end([world.start("a", on: 0).id, world.start("a", on: 1).id])
        _ = world.start(1, "b", on: 0)
        #expect(world.engine(for: "a") == 1)
    }

    @Test func aNewOriginBeginsOnTheEngineWithMuchLessToDo() {
        var world = World(2)
        _ = world.start(8, "a", on: 0)
        #expect(world.engine(for: "b") == 0)
        _ = world.start(1, "a", on: 0)
        #expect(world.engine(for: "c") == 1)
    }

    /// No request of the burst has entered when the next one begins.
    @Test func aBurstIsSpread() {
        var world = World(2)
        world.end([world.start("a").id])
        let engines = (0..<100).map { _ in world.engine(for: "a") }
        #expect(engines.count { $0 == 1 } > 40)
        // The requests that were expected have not come.
        world.end([world.start("a", on: 0).id])
        #expect(world.engine(for: "a") == 0)
    }

    // MARK: Limits

    @Test(arguments: [(1, 1), (8, 1), (15, 1), (16, 2), (31, 3), (64, 4)])
    func anOriginHasSeveralEnginesIfTheLimitLeavesEachEnough(_ limit: Int, _ count: Int) {
        for world in [World(4, perOrigin: limit), World(4, total: limit)] {
            var world = world
            let engines = (0..<400).map { _ in world.start("a").engine }
            #expect(Set(engines) == Set(0..<count))
        }
    }

    @Test func anOriginWithOneEngineStaysOnThatOfItsFirstRequest() {
        var world = World(4, perOrigin: 8)
        let first = world.start("a", on: 2).id
        #expect(world.engine(for: "a", preferred: 1) == 2)
        #expect((0..<20).map { _ in world.start("a").engine } == Array(repeating: 2, count: 20))
        // The others have left, and the origin may begin elsewhere once its connection is closed.
        world.end([first])
        #expect(world.engine(for: "a", preferred: 2) == 2)
        #expect(world.engine(for: "b", preferred: 1) == 1)
    }

    /// No request has entered when the next one begins.
    @Test func aBurstToANewOriginWithOneEngineBeginsOnOne() {
        var world = World(4, perOrigin: 8)
        #expect(world.engine(for: "a", preferred: 2) == 2)
        for preferred in [nil, 0, 1, 2, 3] { #expect(world.engine(for: "a", preferred: preferred) == 2) }
        #expect(world.engine(for: "b") == 0)
    }

    @Test func aTaskThatPrefersAnEngineKeepsItsRequestsThere() {
        var world = World(4)
        world.end([world.start("a", on: 0).id])
        for engine in 0..<4 { #expect(world.engine(for: "a", preferred: engine) == engine) }
    }

    /// The connections that requests share are all on one engine.
    @Test func aTaskThatPrefersAnEngineSharesTheConnectionsOfAnother() {
        var world = World(4)
        let first = world.start("a", on: 2, mayShare: true).id
        #expect(world.engine(for: "a", preferred: 1) == 2)
        world.share(first)
        #expect(world.engine(for: "a", preferred: 1) == 2)
        world.end([first], isShared: true)
        #expect(world.engine(for: "a", preferred: 3) == 2)
    }

    @Test func waitingRequestsBeginOnEnginesInProportionToTheirConnections() {
        var world = World(2, perOrigin: 16)
        _ = world.start(10, "a", on: 0) + world.start(6, "a", on: 1)
        let engines = (0..<8).map { _ in world.start("a").engine }
        #expect(engines.count { $0 == 0 } == 5)
    }

    /// All connections are on the first engine, which has much more to do.
    @Test func atTheLimitAnEngineWithFewerConnectionsGetsRequestsForItsOwn() {
        var world = World(2, perOrigin: 16)
        let first = world.start(16, "a", on: 0)
        #expect(world.engine(for: "a") == 1)
        world.end(Array(first.prefix(2)))
        _ = world.start(2, "b", on: 0)
        #expect(world.engine(for: "a") == 1)
    }

    @Test func atTheLimitAnIdleConnectionIsUsedOnceTheNumbersAreEven() {
        var world = World(2, perOrigin: 16)
        let (left, _) = (world.start(8, "a", on: 0), world.start(8, "a", on: 1))
        _ = world.start(20, "b", on: 0)
        world.end([left[0]])
        #expect(world.engine(for: "a") == 0)
    }

    // MARK: Shared connections

    @Test func requestsThatShareConnectionsStayOnOneEngine() {
        var world = World(2)
        let first = world.start("a", mayShare: true)
        // The first connection is not made yet.
        #expect((0..<50).map { _ in world.start("a", mayShare: true).engine }.allSatisfy { $0 == first.engine })
        world.share(first.id)
        #expect((0..<200).map { _ in world.start("a", mayShare: true).engine }.allSatisfy { $0 == first.engine })
    }

    @Test func anOriginThatSharesNoConnectionsAfterAllIsSpread() {
        var world = World(2)
        world.end([world.start("a", mayShare: true).id])
        #expect(Set((0..<40).map { _ in world.start("a", mayShare: true).engine }) == [0, 1])
    }

    // MARK: Threads

    @Test func anEngineThatIsNotActiveGetsNoRequestsOfOthers() {
        var world = World(2)
        let both = (0..<40).map { _ in world.start("a").id }
        world.end(both)
        world.activate(1)
        #expect((0..<80).map { _ in world.start("a").engine }.allSatisfy { $0 == 0 })
        #expect(world.engine(for: "b") == 0)
        #expect(world.engine(for: "b", preferred: 1) == 1)
    }

    @Test func anOriginLeavesAnEngineThatIsNoLongerActive() {
        var world = World(2, perOrigin: 1)
        world.end([world.start("a", on: 1).id])
        world.activate(1)
        #expect(world.engine(for: "a") == 0)
    }

    @Test func aRequestLeavesTheIdleConnectionOfABusyEngine() {
        var world = World(2)
        let ids = world.start(3, "a", on: 0)
        world.end([ids[0]])
        #expect(world.engine(for: "a") == 0)
        world.busy = [0]
        #expect(world.engine(for: "a") == 1)
        world.busy = [0, 1]
        #expect(world.engine(for: "a") == 0)
    }
}
