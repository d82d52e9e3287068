/// The connections of one origin on the engines of a session, as a value: how many each engine has open, and how many requests use them.
///
/// A connection belongs to its engine for as long as it is open. The spread decides on which engine a request gets its slot, so that
/// requests reuse connections wherever they are, and the connections of all engines together stay within the limit.
struct EngineSpread: Hashable {
    /// The connections on one engine.
    private struct Share: Hashable {
        /// The number of open connections, in use or idle.
        var open = 0
        /// The number of requests that use these connections.
        var active = 0

        /// Returns the number of connections that the active requests need if each connection carries `streams` requests.
        func used(_ streams: Int) -> Int { (active + streams - 1) / streams }
    }

    /// The engine of a slot, and the origin of its connection.
    struct Choice: Hashable {
        let engine: Int
        /// Whether no open connection has room, so that the engine opens one.
        let opens: Bool
        /// The engine that closes an idle connection of the same origin in exchange; `nil` if none.
        var closes: Int?
    }

    private var shares: [Share] = []
    /// The position of the last choice of ``engineInTurn()``.
    private var turn = 0

    /// The number of open connections on all engines.
    private(set) var openCount = 0

    /// Returns the number of connections in use on all engines if each connection carries `streams` requests.
    func usedCount(streams: Int) -> Int { shares.reduce(0) { $0 + $1.used(streams) } }

    /// Whether no engine has a connection.
    var isEmpty: Bool { openCount == 0 }

    /// Returns the number of connections that an engine has open.
    func openCount(on engine: Int) -> Int { engine < shares.count ? shares[engine].open : 0 }

    /// Records requests that got their slots before the session had several engines.
    mutating func adopt(active: Int, connections: Int, on engine: Int) {
        modify(engine) { $0 = Share(open: connections, active: active) }
    }

    /// Chooses the engine of a request that gets a slot, and counts the request there.
    ///
    /// - Parameters:
    ///   - home: The engine of the request.
    ///   - streams: The number of requests that share a connection.
    ///   - limit: The maximum number of connections.
    ///   - mobility: Whether the request can move to another engine.
    ///   - engines: The engines of the session.
    mutating func take(
        home: Int, streams: Int, limit: Int, mobility: EngineMobility = .free, engines: EngineLoads
    ) -> Choice {
        let choice = choice(home: home, streams: streams, isFull: openCount >= limit, mobility: mobility, engines)
        if let closing = choice.closes { modify(closing) { $0.open -= 1 } }
        modify(choice.engine) { share in
            share.active += 1
            if choice.opens { share.open += 1 }
        }
        return choice
    }

    private func choice(
        home: Int, streams: Int, isFull: Bool, mobility: EngineMobility, _ engines: EngineLoads
    ) -> Choice {
        let mayRelieve = mobility == .free && streams == 1
        if hasRoom(home, streams) {
            guard mayRelieve, let lighter = relief(of: home, isFull: isFull, engines) else {
                return Choice(engine: home, opens: false)
            }
            let opens = !hasRoom(lighter, streams)
            return Choice(engine: lighter, opens: opens, closes: opens && isFull ? home : nil)
        }
        guard let other = engineWithRoom(streams: streams, engines) else {
            let lighter = mayRelieve ? engines.relief(of: home) : nil
            // At the limit, only an engine that is stuck can have an idle connection.
            return Choice(
                engine: mobility == .free ? lighter ?? engines.relieving(home) : home, opens: true,
                closes: isFull ? engineWithIdleConnection(streams: streams) : nil)
        }
        let moves =
            switch mobility {
            // Streams share connections until these are full; exclusive connections are spread evenly.
            case .free: streams > 1 || !leaves(other, to: home, isFull: isFull, engines)
            case .atLimit: isFull && (streams > 1 || !isUneven(other, home))
            case .none: false
            }
        if moves { return Choice(engine: other, opens: false) }
        // A shared connection with room may be in use, and is then not closed.
        let idle = streams == 1 ? other : engineWithIdleConnection(streams: streams)
        return Choice(engine: home, opens: true, closes: isFull ? idle : nil)
    }

    /// Returns whether an engine has so many more connections than another that it leaves one to a request that prefers the other. The
    /// difference is never reversed by that, so that connections are exchanged only until the numbers are even.
    func isUneven(_ engine: Int, _ other: Int) -> Bool { openCount(on: engine) >= openCount(on: other) + 2 }

    /// Returns whether an engine has so many more connections than another that it leaves one to any request, because it has more to do.
    private func isCrowded(_ engine: Int, _ other: Int) -> Bool { openCount(on: engine) > openCount(on: other) + 8 }

    /// Returns whether an engine leaves an exclusive request to another one although it has an idle connection, because it has more to do.
    private func leaves(_ engine: Int, to other: Int, isFull: Bool, _ engines: EngineLoads) -> Bool {
        if engines.isOverloaded(engine, against: other), !isFull || isUneven(engine, other) { return true }
        return engines.isUnbalanced(engine, against: other) && (!isFull || isCrowded(engine, other))
    }

    /// Returns the engine that takes an exclusive request of an engine that is busy, and has an idle connection; `nil` if the request uses
    /// that connection.
    ///
    /// - Parameter isFull: Whether the limit on connections leaves no room for another one. An idle one is then closed only until
    ///   the numbers of connections are even.
    func relief(of engine: Int, isFull: Bool, _ engines: EngineLoads) -> Int? {
        guard let lighter = engines.relief(of: engine) else { return nil }
        return !isFull || hasRoom(lighter, 1) || isUneven(engine, lighter) ? lighter : nil
    }

    /// Returns an engine for a request that waits for a connection: one after another, each as often as it has connections.
    mutating func engineInTurn() -> Int? {
        guard openCount > 0 else { return nil }
        // The stride separates successive choices, and visits every connection.
        turn = (turn &+ 0x9E37_79B9) & 0xFFFF_FFFF
        var rest = (turn * openCount) >> 32
        return shares.indices.first { engine in
            rest -= shares[engine].open
            return rest < 0
        }
    }

    /// The engine with most connections; `nil` if there are none.
    var largest: Int? { isEmpty ? nil : shares.indices.max { shares[$0].open < shares[$1].open } }

    /// Returns the engine with room on an open connection that is best for one more request; `nil` if no engine has room.
    ///
    /// Active engines come first, so that the others get idle and sleep. Of these, streams go where most requests share a connection, and
    /// exclusive connections are taken from the engine with least to do.
    func engineWithRoom(streams: Int, _ engines: EngineLoads) -> Int? {
        func rank(_ engine: Int) -> (Int, Int) {
            (engine < engines.activeCount ? 0 : 1, streams > 1 ? -shares[engine].active : engines.requests[engine])
        }
        return shares.indices.filter { hasRoom($0, streams) && !engines.isStuck($0) }.min { rank($0) < rank($1) }
    }

    private func hasRoom(_ engine: Int, _ streams: Int) -> Bool {
        engine < shares.count && shares[engine].active < shares[engine].open * streams
    }

    /// Releases the slot of a request. Its connection is counted as open on its engine even if the connection was closed, so that the count
    /// is never too low: the next request of the origin then opens a connection there.
    mutating func release(on engine: Int) { modify(engine) { $0.active -= 1 } }

    /// The first engine that has an idle connection; `nil` if there is none.
    func engineWithIdleConnection(streams: Int) -> Int? {
        shares.indices.first { shares[$0].open > shares[$0].used(streams) }
    }

    /// Records that an engine has closed its idle connections.
    mutating func closeAllIdle(on engine: Int, streams: Int) {
        guard engine < shares.count else { return }
        modify(engine) { $0.open = min($0.open, $0.used(streams)) }
    }

    /// Records that an engine closes an idle connection.
    mutating func closeIdle(on engine: Int) { modify(engine) { $0.open -= 1 } }

    private mutating func modify(_ engine: Int, _ body: (inout Share) -> Void) {
        while shares.count <= engine { shares.append(Share()) }
        openCount -= shares[engine].open
        body(&shares[engine])
        openCount += shares[engine].open
    }
}

/// The freedom of a request to move to another engine when it gets its slot.
enum EngineMobility: Hashable, Sendable {
    /// The request moves to any engine that has an idle connection, or much less to do.
    case free
    /// The request moves to an idle connection if the limit on connections leaves no room for another one. Its task prefers its engine.
    case atLimit
    /// The request has already moved, or its transport has begun.
    case none
}

/// The work of each engine of a session.
struct EngineLoads {
    /// The number of requests that have a slot on each engine, for all origins.
    var requests: [Int]
    /// The number of engines that get requests without a connection. Engines beyond it serve only their own tasks.
    var activeCount: Int
    /// Returns whether an engine takes no work at present.
    let isStuck: (Int) -> Bool
    /// Returns whether the thread of an engine is busy most of its time, which is measured while the number of engines follows the load.
    var isBusy: (Int) -> Bool = { _ in false }

    /// Returns whether an engine has so much more to do than another that a new connection on the other engine pays.
    func isUnbalanced(_ engine: Int, against other: Int) -> Bool {
        requests[engine] > requests[other] + max(8, requests[other] / 4)
    }

    /// Returns whether an engine is busy with more requests than another one that is not busy. A few large responses can occupy a thread
    /// that would serve thousands of small ones, and so the numbers of requests alone do not show the work.
    func isOverloaded(_ engine: Int, against other: Int) -> Bool {
        requests[engine] > requests[other] && isBusy(engine) && !isBusy(other)
    }

    /// Returns the engine that gets the new requests of a busy one: the one with least to do among the engines that have fewer requests
    /// and are not busy; `nil` if none is, or `engine` is not busy. The requests are not moved beyond an even number: the measurement
    /// is late, and they would all follow it from engine to engine.
    func relief(of engine: Int) -> Int? {
        guard isBusy(engine) else { return nil }
        let others = (0..<activeCount).filter { requests[$0] < requests[engine] && !isStuck($0) && !isBusy($0) }
        return others.min { requests[$0] < requests[$1] }
    }

    /// Returns the engine on which a request of `engine` opens its connection: the same engine, unless another one has much less to do.
    func relieving(_ engine: Int) -> Int {
        var others = (0..<activeCount).filter { !isStuck($0) }
        if others.isEmpty { others = requests.indices.filter { !isStuck($0) } }
        guard let least = others.min(by: { requests[$0] < requests[$1] }), least != engine else { return engine }
        return isStuck(engine) || isUnbalanced(engine, against: least) ? least : engine
    }
}
