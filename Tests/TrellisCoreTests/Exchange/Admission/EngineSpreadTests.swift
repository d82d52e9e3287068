import Testing

@testable import TrellisCore

/// The choice of an engine for a request that gets a slot.
struct EngineSpreadTests {
    private static func loads(
        _ requests: [Int], active: Int? = nil, stuck: Int? = nil, busy: Set<Int> = []
    ) -> EngineLoads {
        EngineLoads(requests: requests, activeCount: active ?? requests.count) {
            $0 == stuck
        } isBusy: {
            busy.contains($0)
        }
    }

    @Test func aRequestStaysOnItsEngineIfNoOtherHasAConnection() {
        var spread = EngineSpread()
        let choice = spread.take(home: 1, streams: 1, limit: 8, engines: Self.loads([0, 0]))
        #expect(choice == EngineSpread.Choice(engine: 1, opens: true))
        #expect(spread.openCount(on: 1) == 1)
    }

    @Test func aRequestUsesTheIdleConnectionOfAnotherEngine() {
        var spread = EngineSpread()
        _ = spread.take(home: 0, streams: 1, limit: 8, engines: Self.loads([0, 0]))
        spread.release(on: 0)
        let choice = spread.take(home: 1, streams: 1, limit: 8, engines: Self.loads([0, 0]))
        #expect(choice == EngineSpread.Choice(engine: 0, opens: false))
        #expect(spread.openCount == 1)
    }

    @Test func anIdleConnectionOfItsOwnEngineComesFirst() {
        var spread = EngineSpread()
        for home in [0, 1] { _ = spread.take(home: home, streams: 1, limit: 8, engines: Self.loads([0, 0])) }
        for engine in [0, 1] { spread.release(on: engine) }
        #expect(spread.take(home: 1, streams: 1, limit: 8, engines: Self.loads([0, 5])).engine == 1)
    }

    @Test func aBusyEngineIsRelievedByANewConnection() {
        var spread = EngineSpread()
        _ = spread.take(home: 0, streams: 1, limit: 8, engines: Self.loads([0, 0]))
        spread.release(on: 0)
        let choice = spread.take(home: 1, streams: 1, limit: 8, engines: Self.loads([20, 2]))
        #expect(choice == EngineSpread.Choice(engine: 1, opens: true))
    }

    @Test func atTheLimitAnIdleConnectionIsUsedRatherThanClosed() {
        var spread = EngineSpread()
        _ = spread.take(home: 0, streams: 1, limit: 1, engines: Self.loads([0, 0]))
        spread.release(on: 0)
        let choice = spread.take(home: 1, streams: 1, limit: 1, engines: Self.loads([20, 2]))
        #expect(choice == EngineSpread.Choice(engine: 0, opens: false))
        #expect(spread.openCount == 1)
    }

    @Test func anEngineWithFarMoreConnectionsAndMoreToDoClosesOneInExchange() {
        for (count, expected) in [
            (8, EngineSpread.Choice(engine: 0, opens: false)), (9, .init(engine: 1, opens: true, closes: 0)),
        ] {
            for (work, expected) in [(20, expected), (8, .init(engine: 0, opens: false))] {
                var spread = EngineSpread()
                for _ in 0..<count {
                    _ = spread.take(home: 0, streams: 1, limit: count, mobility: .none, engines: Self.loads([0, 0]))
                }
                spread.release(on: 0)
                let choice = spread.take(home: 1, streams: 1, limit: count, engines: Self.loads([work, 2]))
                #expect(choice == expected)
                #expect(spread.openCount == count)
            }
        }
    }

    @Test func aRequestThatPrefersAnEngineWithFewerConnectionsGetsOneThere() {
        var spread = EngineSpread()
        for _ in 0..<3 {
            _ = spread.take(home: 0, streams: 1, limit: 3, mobility: .none, engines: Self.loads([0, 0]))
        }
        for expected in [EngineSpread.Choice(engine: 1, opens: true, closes: 0), .init(engine: 0, opens: false)] {
            spread.release(on: 0)
            let choice = spread.take(home: 1, streams: 1, limit: 3, mobility: .atLimit, engines: Self.loads([0, 0]))
            #expect(choice == expected)
        }
    }

    /// The connection that a request needs on its engine is beyond the limit then, and is counted.
    @Test func aSharedConnectionInUseIsNotClosed() {
        var spread = EngineSpread()
        _ = spread.take(home: 0, streams: 100, limit: 1, engines: Self.loads([0, 0]))
        let choice = spread.take(home: 1, streams: 100, limit: 1, mobility: .none, engines: Self.loads([1, 0]))
        #expect(choice == EngineSpread.Choice(engine: 1, opens: true))
        #expect((0...1).map(spread.openCount(on:)) == [1, 1])
        for engine in [0, 1] { spread.release(on: engine) }
        #expect(spread.openCount == 2)
    }

    @Test func waitingRequestsGoToEnginesInProportionToTheirConnections() {
        var spread = EngineSpread()
        #expect(spread.engineInTurn() == nil)
        for home in [0, 0, 0, 2] { _ = spread.take(home: home, streams: 1, limit: 4, engines: Self.loads([0, 0, 0])) }
        let engines = (0..<400).compactMap { _ in spread.engineInTurn() }
        #expect(engines.count == 400)
        #expect((290...310).contains(engines.count { $0 == 0 }))
        #expect(!engines.contains(1))
        // Successive choices are spread: no engine is chosen for long while another is due.
        #expect((0..<392).allSatisfy { engines[$0..<($0 + 8)].contains(2) })
    }

    @Test func aRequestThatMustNotMoveClosesAConnectionElsewhereAtTheLimit() {
        var spread = EngineSpread()
        _ = spread.take(home: 0, streams: 1, limit: 1, engines: Self.loads([0, 0]))
        spread.release(on: 0)
        let choice = spread.take(home: 1, streams: 1, limit: 1, mobility: .none, engines: Self.loads([0, 0]))
        #expect(choice == EngineSpread.Choice(engine: 1, opens: true, closes: 0))
    }

    @Test func aRequestThatPrefersItsEngineMovesOnlyAtTheLimit() {
        for (limit, expected) in [
            (2, EngineSpread.Choice(engine: 1, opens: true)), (1, .init(engine: 0, opens: false)),
        ] {
            var spread = EngineSpread()
            _ = spread.take(home: 0, streams: 1, limit: limit, engines: Self.loads([0, 0]))
            spread.release(on: 0)
            let choice = spread.take(
                home: 1, streams: 1, limit: limit, mobility: .atLimit, engines: Self.loads([0, 0]))
            #expect(choice == expected)
        }
    }

    @Test func streamsFillAConnectionBeforeAnotherEngineOpensOne() {
        var spread = EngineSpread()
        for _ in 0..<100 { _ = spread.take(home: 0, streams: 100, limit: 8, engines: Self.loads([0, 0])) }
        #expect(spread.openCount == 1)
        let choice = spread.take(home: 1, streams: 100, limit: 8, engines: Self.loads([100, 0]))
        #expect(choice == EngineSpread.Choice(engine: 1, opens: true))
        spread.release(on: 0)
        #expect(spread.take(home: 0, streams: 100, limit: 8, engines: Self.loads([99, 1])).opens == false)
    }

    @Test func theFirstConnectionGoesToTheEngineWithLeastToDo() {
        var spread = EngineSpread()
        let choice = spread.take(home: 0, streams: 1, limit: 8, engines: Self.loads([30, 9, 12]))
        #expect(choice.engine == 1)
    }

    @Test func anIdleConnectionOfAnActiveEngineComesFirst() {
        var spread = EngineSpread()
        for home in [0, 1] { _ = spread.take(home: home, streams: 1, limit: 8, engines: Self.loads([0, 0])) }
        for engine in [0, 1] { spread.release(on: engine) }
        #expect(spread.engineWithRoom(streams: 1, Self.loads([1, 0], active: 1)) == 0)
        #expect(spread.engineWithRoom(streams: 1, Self.loads([1, 0])) == 1)
    }

    @Test func streamsGoToTheActiveEngineThatHasMostOfThem() {
        var spread = EngineSpread()
        for home in [0, 1, 1, 2, 2, 2] {
            _ = spread.take(home: home, streams: 2, limit: 8, mobility: .none, engines: Self.loads([0, 0, 0]))
        }
        #expect(spread.engineWithRoom(streams: 100, Self.loads([0, 9, 0], active: 2)) == 1)
    }

    @Test func anEngineThatIsNotActiveGetsNoRequestsOfOthers() {
        #expect(Self.loads([30, 9, 0], active: 2).relieving(0) == 1)
        #expect(Self.loads([30, 9, 0], active: 1).relieving(0) == 0)
    }

    @Test func aStuckEngineGetsNoRequests() {
        #expect(Self.loads([0, 5], stuck: 0).relieving(0) == 1)
        #expect(Self.loads([20, 0], stuck: 1).relieving(0) == 0)
        #expect(Self.loads([0, 0], active: 1, stuck: 0).relieving(0) == 1)
        var spread = EngineSpread()
        _ = spread.take(home: 0, streams: 1, limit: 8, engines: Self.loads([0, 0]))
        spread.release(on: 0)
        #expect(spread.take(home: 1, streams: 1, limit: 8, engines: Self.loads([0, 0], stuck: 0)).engine == 1)
    }

    /// A few large responses can occupy an engine.
    @Test func theEngineThatRelievesABusyOneHasFewerRequestsAndIsNotBusy() {
        let table: [(requests: [Int], active: Int, busy: Set<Int>, stuck: Int?, relief: Int?)] = [
            ([8, 0], 2, [0], nil, 1), ([1, 0], 2, [0], nil, 1), ([0, 0], 2, [0], nil, nil), ([4, 4], 2, [0], nil, nil),
            ([4, 5], 2, [0], nil, nil), ([8, 0], 2, [], nil, nil), ([8, 0], 2, [1], nil, nil),
            ([8, 0], 2, [0, 1], nil, nil), ([8, 0], 2, [0], 1, nil), ([8, 0], 1, [0], nil, nil),
            ([8, 0, 3], 3, [0, 1], nil, 2), ([8, 5, 3], 3, [0], nil, 2), ([8, 5, 3], 2, [0], nil, 1),
        ]
        for row in table {
            let loads = Self.loads(row.requests, active: row.active, stuck: row.stuck, busy: row.busy)
            #expect(loads.relief(of: 0) == row.relief, "\(row)")
            #expect(loads.relieving(0) == 0, "the number of requests alone is not large enough")
        }
    }

    /// A spread with connections on engine 0 and engine 1, one of which is idle on engine 0.
    private static func spread(_ counts: [Int]) -> EngineSpread {
        var spread = EngineSpread()
        for engine in counts.indices {
            for _ in 0..<counts[engine] {
                _ = spread.take(home: engine, streams: 1, limit: 100, mobility: .none, engines: loads([0, 0]))
            }
        }
        spread.release(on: 0)
        return spread
    }

    @Test func aRequestLeavesTheIdleConnectionOfABusyEngine() {
        let stays = EngineSpread.Choice(engine: 0, opens: false)
        let moves = EngineSpread.Choice(engine: 1, opens: true)
        let exchanges = EngineSpread.Choice(engine: 1, opens: true, closes: 0)
        // The numbers of connections, their limit, and the busy engines.
        let table: [([Int], Int, Set<Int>, EngineMobility, EngineSpread.Choice)] = [
            ([8, 0], 9, [0], .free, moves), ([8, 0], 9, [], .free, stays), ([8, 0], 9, [0, 1], .free, stays),
            ([8, 0], 9, [0], .atLimit, stays), ([8, 0], 9, [0], .none, stays),
            // At the limit, connections are exchanged only until their numbers are even.
            ([8, 0], 8, [0], .free, exchanges), ([2, 0], 2, [0], .free, exchanges), ([1, 0], 1, [0], .free, stays),
            ([4, 2], 6, [0], .free, exchanges), ([4, 3], 7, [0], .free, stays), ([4, 3], 8, [0], .free, stays),
        ]
        for (counts, limit, busy, mobility, expected) in table {
            var spread = Self.spread(counts)
            let loads = Self.loads([counts[0] - 1, counts[1]], busy: busy)
            let choice = spread.take(home: 0, streams: 1, limit: limit, mobility: mobility, engines: loads)
            #expect(choice == expected, "\(counts) \(limit) \(busy) \(mobility)")
            #expect(spread.openCount == counts[0] + counts[1] + (expected == moves ? 1 : 0))
        }
    }

    /// A request that has begun on the other engine does not go back to the busy one.
    @Test func aRequestDoesNotTakeTheIdleConnectionOfABusyEngine() {
        let moves = EngineSpread.Choice(engine: 0, opens: false)
        let stays = EngineSpread.Choice(engine: 1, opens: true)
        let exchanges = EngineSpread.Choice(engine: 1, opens: true, closes: 0)
        let table: [([Int], Int, Set<Int>, EngineSpread.Choice)] = [
            ([8, 0], 9, [0], stays), ([8, 0], 9, [], moves), ([8, 0], 9, [0, 1], moves), ([8, 0], 8, [0], exchanges),
            ([1, 0], 1, [0], moves), ([4, 3], 7, [0], moves),
        ]
        for (counts, limit, busy, expected) in table {
            var spread = Self.spread(counts)
            let loads = Self.loads([counts[0] - 1, counts[1]], busy: busy)
            let choice = spread.take(home: 1, streams: 1, limit: limit, engines: loads)
            #expect(choice == expected, "\(counts) \(limit) \(busy)")
        }
    }

    @Test func anIdleConnectionOfTheEngineThatRelievesABusyOneIsUsed() {
        var spread = Self.spread([8, 1])
        spread.release(on: 1)
        let choice = spread.take(home: 0, streams: 1, limit: 9, engines: Self.loads([7, 0], busy: [0]))
        #expect(choice == EngineSpread.Choice(engine: 1, opens: false))
    }

    @Test func aNewConnectionIsOpenedBesideABusyEngine() {
        let table: [(Set<Int>, Int)] = [([0], 1), ([], 0), ([0, 1], 0)]
        for (busy, engine) in table {
            var spread = EngineSpread()
            let choice = spread.take(home: 0, streams: 1, limit: 8, engines: Self.loads([2, 0], busy: busy))
            #expect(choice == EngineSpread.Choice(engine: engine, opens: true))
        }
    }

    @Test func streamsStayOnTheConnectionOfABusyEngine() {
        var spread = EngineSpread()
        let loads = Self.loads([5, 0], busy: [0])
        _ = spread.take(home: 0, streams: 100, limit: 8, mobility: .none, engines: loads)
        for home in [0, 1] {
            let choice = spread.take(home: home, streams: 100, limit: 8, engines: loads)
            #expect(choice == EngineSpread.Choice(engine: 0, opens: false))
        }
    }
}
