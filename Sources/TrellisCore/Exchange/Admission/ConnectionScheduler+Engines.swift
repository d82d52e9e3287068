import CurlEngine

/// The engines of the scheduler: where a request begins, and the connections of each engine.
///
/// A connection belongs to its engine for as long as it is open, and a request to its engine for as long as it lasts. An origin has one
/// engine or several, which follow the engine of its first request. It has several only if the limits leave each of them
/// ``connectionsPerEngine`` connections, and its requests do not share connections. So engines seldom close each other's connections.
extension ConnectionScheduler {
    /// The number of connections that the limits leave to each engine of an origin with several engines.
    static var connectionsPerEngine: Int { 8 }

    /// The work of an engine.
    struct Engine {
        /// The number of requests that have a slot.
        var requests = 0
        /// The number of requests that were told to begin on the engine since the release with a number, and may not have entered yet.
        private var expected = (count: 0, since: UInt64(0))

        /// Counts a request that is told to begin on the engine.
        mutating func expect(since release: UInt64) {
            expected = (expected.since == release ? expected.count + 1 : 1, release)
        }

        /// Returns the number of requests that are about to begin on the engine.
        func expected(since release: UInt64) -> Int { expected.since == release ? expected.count : 0 }

        /// Returns the number of requests that the engine has, or is about to have.
        func load(since release: UInt64) -> Int { requests + expected(since: release) }
    }

    /// The engines on which requests to an origin may begin, from the engine of its first request.
    private struct Candidates {
        let home: Int
        let count: Int
        /// The number of engines, after which the first one follows.
        let total: Int

        subscript(_ position: Int) -> Int { (home + position) % total }
    }

    /// Adds an engine. Returns whether the first engine must close its idle connections, which were not counted before there was a second
    /// one.
    ///
    /// - Parameter engineOf: Returns the engine of a request.
    mutating func addEngine(_ engineOf: @escaping @Sendable (ID) -> Int) -> Bool {
        engines.append(Engine())
        guard engines.count == 2 else { return false }
        self.engineOf = engineOf
        for index in indices.values where !origins[index].isUnused {
            origins[index].adopt()
            engines[0].requests += origins[index].active
            open += origins[index].openCount
        }
        return true
    }

    /// The number of engines on which an origin may have connections if its requests do not share them.
    var enginesPerOrigin: Int { max(min(limits.perOrigin, limits.total) / Self.connectionsPerEngine, 1) }

    // MARK: The choice of an engine

    /// Returns the engine on which a request begins: one with an idle connection to its origin, or else the one with least to do.
    ///
    /// - Parameters:
    ///   - origin: The origin; `nil` if it is not known yet.
    ///   - preferred: The engine that the task of the request prefers, if any.
    ///   - isBusy: Returns whether the thread of an engine is busy most of its time. A few large responses can occupy a thread that would
    ///     serve thousands of small ones, and so the numbers of requests alone do not show the work.
    mutating func engine(for origin: String?, preferred: Int? = nil, isBusy: (Int) -> Bool) -> Int {
        guard let origin, let index = indices[origin], !origins[index].isUnused else {
            return engine(ofUnused: origin, preferred: preferred, isBusy)
        }
        let home = origins[index].home
        // Connections that requests share are all on one engine.
        guard !origins[index].mayBeMultiplexed else { return home }
        if let preferred, mayUse(preferred, home: home) { return preferred }
        if home >= activeCount { origins[index].home = home % activeCount }
        let engine = engine(ofExclusive: index, isBusy)
        engines[engine].expect(since: releaseCount)
        return engine
    }

    /// Returns whether the limits let an origin have connections on an engine.
    private func mayUse(_ engine: Int, home: Int) -> Bool {
        (engine - home + engines.count) % engines.count < enginesPerOrigin
    }

    private mutating func engine(ofUnused origin: String?, preferred: Int?, _ isBusy: (Int) -> Bool) -> Int {
        if let origin, let last = lastBegun, last.origin == origin, last.engine < activeCount || preferred != nil {
            if let preferred, mayUse(preferred, home: last.engine) { return preferred }
            return last.engine
        }
        let engine = preferred ?? lighter(than: 0, among: active, isBusy)
        if let origin { lastBegun = (origin, engine) }
        return engine
    }

    /// All engines that get requests without a connection.
    private var active: Candidates { Candidates(home: 0, count: activeCount, total: activeCount) }

    private func engine(ofExclusive index: Int, _ isBusy: (Int) -> Bool) -> Int {
        let candidates = Candidates(
            home: origins[index].home, count: min(enginesPerOrigin, activeCount), total: activeCount)
        if let engine = least(among: candidates, where: { origins[index].hasRoom(on: $0) }) {
            let lighter = lighter(than: engine, among: candidates, isBusy)
            let isFull = open >= limits.total || origins[index].openCount >= limits.perOrigin
            return !isFull || origins[index].isUneven(engine, lighter) ? lighter : engine
        }
        let waiting = isFull(index) ? engine(ofWaiting: index, candidates) : nil
        return lighter(than: waiting ?? candidates.home, among: candidates, isBusy)
    }

    /// Returns the engine where the fewest requests wait for each connection, so that seldom a connection becomes idle where none waits;
    /// `nil` if no engine has a connection.
    private func engine(ofWaiting index: Int, _ candidates: Candidates) -> Int? {
        var best: (engine: Int, waiting: Int, open: Int)?
        for position in 0..<candidates.count {
            let engine = candidates[position]
            let open = origins[index].openCount(on: engine)
            let waiting = origins[index].waitingCount(on: engine) + engines[engine].expected(since: releaseCount) + 1
            guard open > 0, best.map({ waiting * $0.open < $0.waiting * open }) ?? true else { continue }
            best = (engine, waiting, open)
        }
        return best?.engine
    }

    /// Returns whether an origin has all connections or requests that it may have, so that a new request waits.
    private func isFull(_ index: Int) -> Bool {
        inUse >= limits.total || origins[index].connections >= limits.perOrigin
            || origins[index].active >= limits.requestsPerOrigin ?? .max
    }

    /// Returns the engine with least to do, if that is much less than another one has to do; otherwise the other one.
    private func lighter(than engine: Int, among candidates: Candidates, _ isBusy: (Int) -> Bool) -> Int {
        guard let least = least(among: candidates, where: { $0 != engine }) else { return engine }
        let (work, other) = (load(of: engine), load(of: least))
        let isLess = work > other && isBusy(engine) && !isBusy(least)
        return isLess || work > other + max(8, other / 4) ? least : engine
    }

    /// Returns the engine with least to do among those that meet a condition; `nil` if none does.
    private func least(among candidates: Candidates, where isMet: (Int) -> Bool) -> Int? {
        var best: Int?
        for position in 0..<candidates.count {
            let engine = candidates[position]
            if isMet(engine), best.map({ load(of: engine) < load(of: $0) }) ?? true { best = engine }
        }
        return best
    }

    private func load(of engine: Int) -> Int { engines[engine].load(since: releaseCount) }

    // MARK: The connections of the engines

    /// Records the engine of a request that enters. Without another request and a connection, the origin begins there.
    mutating func settle(_ index: Int, on engine: Int, mayShare: Bool) {
        if origins[index].isUnused { origins[index].home = engine }
        origins[index].mayShare = mayShare
    }

    /// Counts a request that gets a slot on its engine. Returns the idle connection that is closed for it, if any: one of its origin, or at
    /// the limit in total the one that was used least recently.
    mutating func begin(_ index: Int, on engine: Int) -> Closing? {
        let before = origins[index].connections
        let opens = origins[index].begin(on: engine)
        inUse += origins[index].connections - before
        engines[engine].requests += 1
        guard opens else { return nil }
        open += 1
        let isOriginFull = origins[index].openCount > origins[index].limit(limits.perOrigin)
        guard isOriginFull || open > limits.total else { return nil }
        return closeIdle(of: index) ?? (isOriginFull ? nil : leastRecentlyIdle.flatMap { closeIdle(of: $0) })
    }

    private mutating func closeIdle(of index: Int) -> Closing? {
        guard let engine = origins[index].closeIdle() else { return nil }
        open -= 1
        let origin = origins[index].name
        forgetIfUnused(index)
        return Closing(engine: engine, origin: origin)
    }

    /// Removes a request from its engine.
    mutating func end(_ index: Int, on engine: Int) {
        let before = origins[index].connections
        origins[index].end(on: engine, release: releaseCount + 1)
        inUse += origins[index].connections - before
        engines[engine].requests -= 1
    }

    /// Records the number of connections that an engine has to an origin, those that are being made included. A request that has a slot
    /// counts as a connection even if it has none yet.
    mutating func setConnections(_ count: Int, to origin: String, on engine: Int) {
        guard let index = indices[origin] else { return }
        origins[index].isConnected = count > 0
        guard engineOf != nil else { return }
        let before = origins[index].openCount
        origins[index].setOpen(count, on: engine)
        open += origins[index].openCount - before
        noteIdle(index)
        forgetIfUnused(index)
    }

    /// Returns whether an engine may use a number of shared connections to an origin, one more than now, because those that it has carry as
    /// many requests as the server allows. The requests that have slots may need more connections than they were counted for: the server
    /// may allow fewer streams than it did.
    mutating func mayUse(_ count: Int, to origin: String, on engine: Int) -> Bool {
        guard let index = indices[origin], origins[index].isMultiplexed else { return true }
        let engine = engineOf == nil ? nil : engine
        let excess = origins[index].excess(of: count, on: engine)
        guard inUse + excess <= limits.total, excess <= 0 || origins[index].mayShareMore(excess) else { return false }
        if excess > 0 { setShared(count, at: index, on: engine) }
        return true
    }

    /// Records the number of shared connections to an origin that an engine uses or is making; zero if there are not several. Returns the
    /// slots that are granted as a result.
    mutating func setShared(_ count: Int, to origin: String, on engine: Int) -> [Grant] {
        guard let index = indices[origin], setShared(count, at: index, on: engineOf == nil ? nil : engine) else {
            return []
        }
        defer { forgetIfUnused(index) }
        return admitWaiting(after: index)
    }

    /// Sets the number of shared connections. Returns whether fewer connections are in use.
    @discardableResult
    private mutating func setShared(_ count: Int, at index: Int, on engine: Int?) -> Bool {
        let before = origins[index].openCount
        let change = origins[index].setShared(count, on: engine)
        inUse += change
        open += origins[index].openCount - before
        return change < 0
    }

    /// Records that an engine has closed its idle connections.
    mutating func closedAllIdle(on engine: Int) {
        for index in indices.values {
            origins[index].isConnected = false
            guard engineOf != nil else { continue }
            setShared(0, at: index, on: engine)
            let before = origins[index].openCount
            origins[index].setOpen(0, on: engine)
            open += origins[index].openCount - before
            forgetIfUnused(index)
        }
    }
}
