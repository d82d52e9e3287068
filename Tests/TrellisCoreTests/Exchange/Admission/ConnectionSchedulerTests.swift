import Testing

@testable import TrellisCore

/// The order in which requests get connection slots.
struct ConnectionSchedulerTests {
    typealias Queue = NamedScheduler<String>

    static func queue(total: Int = 100, perOrigin: Int = 100) -> Queue {
        var limits = ConnectionLimits()
        limits.total = total
        limits.perOrigin = perOrigin
        return Queue(limits: limits)
    }

    /// Adds requests such as `a1`, whose letter is the origin. Returns the requests that got a slot at once.
    static func enter(_ ids: [String], _ queue: inout Queue) -> [String] {
        ids.filter { queue.enter($0, origin: String($0.prefix(1))) }
    }

    // MARK: Limits

    @Test func theLimitPerOriginHoldsForEachOriginOnItsOwn() {
        var queue = Self.queue(perOrigin: 2)
        #expect(Self.enter(["a1", "a2", "a3", "b1", "b2", "b3"], &queue) == ["a1", "a2", "b1", "b2"])
        #expect(queue.activeCount(origin: "a") == 2)
        #expect(queue.waitingCount == 2)
    }

    @Test func theTotalLimitHoldsForAllOriginsTogether() {
        var queue = Self.queue(total: 3)
        #expect(Self.enter(["a1", "b1", "c1", "d1", "a2"], &queue) == ["a1", "b1", "c1"])
        #expect(queue.release("", origin: "a", isShared: false) == ["d1"])
        #expect(queue.release("", origin: "d", isShared: false) == ["a2"])
        #expect(queue.waitingCount == 0)
    }

    @Test func aSlotOfOneOriginIsNotGivenToAnotherThatIsAtItsOwnLimit() {
        var queue = Self.queue(total: 10, perOrigin: 1)
        #expect(Self.enter(["a1", "b1", "b2"], &queue) == ["a1", "b1"])
        #expect(queue.release("", origin: "a", isShared: false).isEmpty)
        #expect(queue.release("", origin: "b", isShared: false) == ["b2"])
    }

    @Test func whatTheQueueDoesNotKnowChangesNothing() {
        var queue = Self.queue(total: 1)
        #expect(queue.release("", origin: "nobody", isShared: false).isEmpty)
        queue.leave("nobody", origin: "nobody")
        #expect(queue.activeCount(origin: "nobody") == 0)
        #expect(Self.enter(["a1", "a2"], &queue) == ["a1"])
    }

    @Test func theLimitOnRequestsHoldsForStreamsOfOneConnection() {
        var queue = Queue(limits: ConnectionLimits(requestsPerOrigin: 3))
        let ids = ["a1", "a2", "a3", "a4", "a5"]
        #expect(ids.filter { queue.enter($0, origin: "a", mayShare: true) } == ["a1"])
        #expect(queue.probed("a1", origin: "a", isShared: true) == ["a2", "a3"])
        #expect(["b1"].filter { queue.enter($0, origin: "b", mayShare: true) } == ["b1"])
        #expect(queue.release("a2", origin: "a", isShared: true) == ["a4"])
        #expect(queue.activeCount(origin: "a") == 3)
        #expect(queue.release("a1", origin: "a", isShared: true) == ["a5"])
        #expect(queue.waitingCount == 0)
    }

    @Test func requestsBeyondTheLimitOnRequestsGoByTheirPriority() {
        var queue = Queue(limits: ConnectionLimits(requestsPerOrigin: 1))
        #expect(Self.enter(["a1", "a2"], &queue) == ["a1"])
        let isAdmitted = queue.enter("a3", origin: "a", priority: .high)
        #expect(!isAdmitted)
        #expect(queue.release("a1", origin: "a", isShared: false) == ["a3"])
        #expect(queue.release("a3", origin: "a", isShared: false) == ["a2"])
    }

    @Test(arguments: [0, -5])
    func atLeastOneRequestIsAllowed(_ limit: Int) {
        var queue = Queue(limits: ConnectionLimits(requestsPerOrigin: limit))
        #expect(Self.enter(["a1", "a2"], &queue) == ["a1"])
        #expect(queue.release("", origin: "a", isShared: false) == ["a2"])
    }

    @Test(arguments: [0, -5])
    func atLeastOneConnectionIsAllowed(_ limit: Int) {
        var queue = Self.queue(total: limit, perOrigin: limit)
        #expect(Self.enter(["a1", "a2", "b1"], &queue) == ["a1"])
        #expect(queue.release("", origin: "a", isShared: false) == ["a2"])
    }

    @Test func oneOriginIsNextIfTheTotalIsTheLimit() {
        var queue = ConnectionScheduler<String>(limits: ConnectionLimits(total: 1))
        let places = ["a", "b", "c"].map { queue.enter($0, origin: $0).originIndex }
        #expect(places.map { queue.isNext($0) } == [false, true, false])
        #expect(queue.release("a", at: places[0], isShared: false).map(\.id) == ["b"])
        #expect(places.map { queue.isNext($0) } == [false, false, true])
    }

    @Test func aRequestThatEntersTwiceWaitsOnce() {
        var queue = Self.queue(total: 1)
        #expect(Self.enter(["a1", "a2", "a3", "a2"], &queue) == ["a1"])
        #expect(queue.waitingCount == 2)
    }

    @Test func aPlaceIsFreedOnce() {
        var queue = ConnectionScheduler<Int>(limits: ConnectionLimits(total: 1_000))
        let first = (0..<300).map { queue.enter($0, origin: "\($0)").originIndex }
        for number in 0..<20 { _ = queue.release(number, at: first[number], isShared: false) }
        for place in first { queue.forgetIfUnused(place.value) }
        let places = (300..<340).map { queue.enter($0, origin: "\($0)").originIndex }
        #expect(Set(places).count == 40)
    }

    /// Two requests that could share a connection use two if they are on two engines.
    @Test func theTotalLimitCountsSharedConnectionsOnEachEngine() {
        var scheduler = ConnectionScheduler<Int>(limits: ConnectionLimits(total: 2))
        for _ in 0..<2 { _ = scheduler.addEngine { _ in 0 } }
        let place = scheduler.enter(1, on: 0, origin: "a", mayShare: true).originIndex
        #expect(scheduler.probed(1, at: place, isShared: true).isEmpty)
        #expect(scheduler.enter(2, on: 1, origin: "a", mayShare: true).isAdmitted)
        #expect(scheduler.connectionCount(at: place) == 2)
        #expect(!scheduler.enter(3, on: 0, origin: "b").isAdmitted)
        // Streams of both connections are free.
        #expect(scheduler.enter(4, on: 1, origin: "a", mayShare: true).isAdmitted)
        let closing = ConnectionScheduler<Int>.Closing(engine: 0, origin: "a")
        #expect(scheduler.release(1, at: place, on: 0, isShared: true) == [.init(id: 3, closing: closing)])
    }

    /// The requests of even numbers are on the first engine, and the others on the second one, which has no connection to their origin.
    @Test func aStreamDoesNotWaitForAConnectionOnAnotherEngine() {
        var scheduler = ConnectionScheduler<Int>(limits: ConnectionLimits(total: 2))
        for _ in 0..<2 { _ = scheduler.addEngine { $0 % 2 } }
        let a = scheduler.enter(0, on: 0, origin: "a", mayShare: true).originIndex
        #expect(scheduler.probed(0, at: a, isShared: true).isEmpty)
        let b = scheduler.enter(1_000, on: 0, origin: "b").originIndex
        #expect(!scheduler.enter(1, on: 1, origin: "a", mayShare: true).isAdmitted)
        let streams = (1..<100).map { scheduler.enter(2 * $0, on: 0, origin: "a", mayShare: true) }
        #expect(streams.allSatisfy { $0.isAdmitted })
        for id in [200, 202, 204] { #expect(!scheduler.enter(id, on: 0, origin: "a", mayShare: true).isAdmitted) }
        scheduler.leave(200, at: a)
        #expect(scheduler.release(0, at: a, on: 0, isShared: true) == [.init(id: 202, closing: nil)])
        #expect(scheduler.open == 2)
        let closing = ConnectionScheduler<Int>.Closing(engine: 0, origin: "b")
        #expect(scheduler.release(1_000, at: b, on: 0, isShared: false) == [.init(id: 1, closing: closing)])
        #expect(scheduler.open == 2)
        #expect(scheduler.release(2, at: a, on: 0, isShared: true) == [.init(id: 204, closing: nil)])
    }

    // MARK: Order

    @Test func withinAnOriginWhoCameFirstIsServedFirst() {
        var queue = Self.queue(total: 1)
        _ = Self.enter((1...5).map { "a\($0)" }, &queue)
        let order = (1...4).flatMap { _ in queue.release("", origin: "a", isShared: false) }
        #expect(order == ["a2", "a3", "a4", "a5"])
    }

    @Test func originsTakeTurnsHoweverManyRequestsOneOfThemHas() {
        var queue = Self.queue(total: 1)
        _ = Self.enter(["z"] + (1...4).map { "a\($0)" } + ["b1", "b2", "c1"], &queue)
        var order: [String] = []
        var origin = "z"
        while let next = queue.release("", origin: origin, isShared: false).first {
            order.append(next)
            origin = String(next.prefix(1))
        }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
    }

    @Test func whoComesLaterDoesNotOvertakeWhoWaitsForTheSameOrigin() {
        var queue = Self.queue(total: 2, perOrigin: 1)
        #expect(Self.enter(["a1", "a2", "a3"], &queue) == ["a1"])
        #expect(queue.release("", origin: "a", isShared: false) == ["a2"])
        #expect(Self.enter(["a4"], &queue).isEmpty)
        #expect(queue.release("", origin: "a", isShared: false) == ["a3"])
    }

    @Test func aThousandWaitingRequestsKeepTheirOrder() {
        var queue = Self.queue(total: 1)
        let ids = (0...1000).map { "a\($0)" }
        #expect(Self.enter(ids, &queue) == ["a0"])
        let order = (1...1000).flatMap { _ in queue.release("", origin: "a", isShared: false) }
        #expect(order == Array(ids.dropFirst()))
    }

    // MARK: Leaving

    @Test func whoLeavesIsPassedOver() {
        var queue = Self.queue(total: 1)
        _ = Self.enter(["a1", "a2", "a3"], &queue)
        queue.leave("a2", origin: "a")
        #expect(queue.waitingCount == 1)
        #expect(queue.release("", origin: "a", isShared: false) == ["a3"])
    }

    @Test func whoLeavesAndEntersAgainStandsAtTheEnd() {
        var queue = Self.queue(total: 1)
        _ = Self.enter(["a1", "a2", "a3"], &queue)
        queue.leave("a2", origin: "a")
        #expect(Self.enter(["a2"], &queue).isEmpty)
        let order = (1...3).flatMap { _ in queue.release("", origin: "a", isShared: false) }
        #expect(order == ["a3", "a2"])
    }

    @Test func leavingTwiceIsLeavingOnce() {
        var queue = Self.queue(total: 1)
        _ = Self.enter(["a1", "a2", "a3"], &queue)
        queue.leave("a2", origin: "a")
        queue.leave("a2", origin: "a")
        #expect(queue.waitingCount == 1)
        #expect(queue.release("", origin: "a", isShared: false) == ["a3"])
    }

    @Test func anOriginThatEverybodyLeftDoesNotTakeATurn() {
        var queue = Self.queue(total: 1)
        _ = Self.enter(["z", "a1", "b1"], &queue)
        queue.leave("a1", origin: "a")
        #expect(queue.release("", origin: "z", isShared: false) == ["b1"])
    }

    // MARK: Multiplexing

    @Test func aHundredStreamsShareAConnectionOnceTheOriginIsKnownToMultiplex() {
        var queue = Self.queue(total: 1)
        _ = Self.enter((0...250).map { "a\($0)" }, &queue)
        let admitted = queue.release("", origin: "a", isShared: true)
        #expect(admitted == (1...100).map { "a\($0)" })
        #expect(queue.activeCount(origin: "a") == 100)
        #expect(queue.release("", origin: "a", isShared: true) == ["a101"])
    }

    @Test func aSecondConnectionForStreamsCountsTowardsTheLimits() {
        var queue = Self.queue(total: 10, perOrigin: 2)
        _ = Self.enter((0...300).map { "a\($0)" }, &queue)
        let admitted = queue.release("", origin: "a", isShared: true)
        #expect(admitted.count == 199)
        #expect(queue.activeCount(origin: "a") == 200)
    }

    @Test func oneGoesAheadWhereOthersCouldShareItsConnection() {
        var queue = Self.queue()
        let admitted = (1...3).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(admitted == [true, false, false])
        #expect(queue.isProbing("a1"))
        #expect(!queue.isProbing("a2"))
        #expect(queue.probed("a2", origin: "a", isShared: true).isEmpty, "it did not go ahead")
        #expect(queue.probed("a1", origin: "a", isShared: true) == ["a2", "a3"])
        #expect(queue.probed("a1", origin: "a", isShared: true).isEmpty, "once is enough")
    }

    /// Requests whose predecessors have ended wait for nobody, as long as the connection is open.
    @Test(arguments: [1, 0])
    func oneGoesAheadAgainOnlyIfTheSharedConnectionWasClosed(_ connections: Int) {
        var queue = Self.queue()
        _ = queue.enter("a1", origin: "a", mayShare: true)
        queue.setConnections(1, origin: "a")
        _ = queue.probed("a1", origin: "a", isShared: true)
        _ = queue.release("a1", origin: "a", isShared: true)
        queue.setConnections(connections, origin: "a")
        let admitted = (2...4).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(admitted == (connections == 1 ? [true, true, true] : [true, false, false]))
        #expect(queue.isProbing("a2") == (connections == 0))
    }

    @Test(arguments: [true, false])
    func whoGoesAheadAndFailsLetsTheOthersGo(_ isKnown: Bool) {
        var queue = Self.queue(perOrigin: 2)
        _ = (1...4).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(queue.release("a1", origin: "a", isShared: isKnown ? false : nil) == ["a2", "a3"])
        #expect(queue.release("a2", origin: "a", isShared: nil) == ["a4"])
    }

    /// The requests that have failed try again, and one that has waited makes the first connection.
    @Test func afterFailuresTheFirstConnectionShowsThatOthersCanShareIt() {
        var queue = Self.queue(perOrigin: 1)
        let admitted = (1...2).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(admitted == [true, false])
        #expect(queue.release("a1", origin: "a", isShared: nil) == ["a2"])
        _ = queue.enter("a1", origin: "a", mayShare: true)
        #expect(queue.release("a2", origin: "a", isShared: nil) == ["a1"])
        _ = queue.enter("a2", origin: "a", mayShare: true)
        #expect(queue.probed("a1", origin: "a", isShared: false).isEmpty)
        #expect(queue.probed("a1", origin: "a", isShared: true) == ["a2"])
    }

    @Test func aRequestThatIsAdmittedAfterFailuresReportsItsConnection() {
        var queue = Self.queue()
        _ = (1...2).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(queue.release("a1", origin: "a", isShared: nil) == ["a2"])
        let admitted = queue.enter("a3", origin: "a", mayShare: true)
        #expect(admitted && queue.isProbing("a3"))
        let isPlainAdmitted = queue.enter("a4", origin: "a")
        #expect(isPlainAdmitted && !queue.isProbing("a4"))
    }

    @Test func nobodyGoesAheadToAnOriginThatIsKnownNotToShare() {
        var queue = Self.queue()
        _ = queue.enter("a1", origin: "a", mayShare: true)
        _ = queue.release("a1", origin: "a", isShared: false)
        let admitted = (2...4).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(admitted == [true, true, true])
    }

    @Test func anOriginThatNoLongerMultiplexesHasItsLimitBack() {
        var queue = Self.queue(perOrigin: 2)
        _ = queue.enter("a0", origin: "a", mayShare: true)
        _ = queue.probed("a0", origin: "a", isShared: true)
        let isAdmitted = queue.enter("a1", origin: "a", mayShare: true)
        #expect(isAdmitted)
        _ = queue.release("a0", origin: "a", isShared: false)
        let admitted = (2...4).map { queue.enter("a\($0)", origin: "a", mayShare: true) }
        #expect(admitted == [true, false, false])
    }

    // MARK: Many origins

    @Test func moreOriginsThanAreRememberedAreServedAllTheSame() {
        var queue = Self.queue(total: 1)
        for number in 0..<1000 {
            let isFirst = queue.enter("id", origin: "origin \(number)")
            #expect(isFirst)
            let isSecond = queue.enter("next", origin: "origin \(number)")
            #expect(!isSecond)
            #expect(queue.release("", origin: "origin \(number)", isShared: false) == ["next"])
            #expect(queue.release("", origin: "origin \(number)", isShared: false).isEmpty)
        }
        #expect(queue.waitingCount == 0)
    }
}
