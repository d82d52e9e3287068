import CurlEngine

/// The origins of the scheduler.
extension ConnectionScheduler {
    /// The known kind of an origin's connections.
    enum Sharing: Equatable {
        /// The kind is not known before the first connection.
        case unknown
        /// A first request is connecting to find out whether others can share its connection; the others wait for it.
        case probed(by: ID)
        /// Each connection carries one request at a time.
        case exclusive
        /// Each connection carries many requests.
        case shared
    }

    /// The room that an origin has for one more request, without regard to the other origins.
    enum Room: Equatable {
        case none
        /// A stream on a connection that exists already.
        case stream
        /// A new connection, within the limit per origin.
        case connection
    }

    /// The connections of an origin on one engine.
    struct Share: Hashable {
        /// The number of open connections, in use or idle. The engine corrects it when connections were opened or closed. Without that, a
        /// connection counts as open until the engine closes its idle ones, so that the number is never too low.
        var open = 0
        /// The number of requests that use these connections.
        var active = 0
        /// The number of shared connections in use or being made, as the engine has told it; zero if there are not several. Requests may be
        /// spread over more connections than they need.
        var shared = 0
        /// The number of the last release of one of these connections. Releases are counted over all origins.
        var lastRelease: UInt64 = 0
    }

    /// The requests of an origin that wait on one engine.
    struct Line {
        var queue = AgingQueue<ID>()
        /// The number of requests that had been served on any engine when this line began, or when its last one was served.
        var since = 0
    }

    /// An origin, with its active and waiting requests.
    struct Origin {
        let name: String
        /// The number of requests that have a slot.
        var active = 0
        var sharing = Sharing.unknown
        /// The waiting requests by engine.
        private var lines: [Line] = []
        /// The number of waiting requests on all engines.
        private(set) var waitingCount = 0
        /// The number of waiting requests that have been served.
        private var served = 0
        /// The turn of the origin; the origin with the lowest is next. Set when the origin begins to wait, and again after each of its
        /// turns.
        var turn: UInt64 = 0
        /// The kind of room that the origin is in a heap for.
        var standing = Room.none

        /// The connections on each engine, if the session has several engines.
        private(set) var shares: [Share] = []
        /// The number of connections on all engines, in use or idle.
        private(set) var openCount = 0
        /// The engine of the first request to the origin. The origin's other engines follow this one.
        var home = 0
        /// Whether requests can share a connection.
        var mayShare = false
        /// Whether an engine has told last that it has a connection.
        var isConnected = false
        /// The number of shared connections as in ``Share/shared``, if the session has one engine.
        private var shared = 0
        /// The number of requests that a shared connection carries: the server's limit on streams, as far as the engine has told it.
        private(set) var capacity = streamsPerConnection
        /// The maximum number of shared connections.
        private let sharedLimit: Int

        init(name: String, sharedLimit: Int) {
            self.name = name
            self.sharedLimit = sharedLimit
        }

        var isMultiplexed: Bool { sharing == .shared }
        /// Whether there is a connection that the next requests share, without one of them that finds out whether they can.
        var hasSharedConnection: Bool { isMultiplexed && isConnected }
        /// Whether the origin is, or may turn out to be, one whose requests share connections.
        var mayBeMultiplexed: Bool { isMultiplexed || mayShare && sharing != .exclusive }
        var isUnused: Bool { active == 0 && openCount == 0 && waitingCount == 0 && shared == 0 }
        /// The number of requests that share a connection.
        var streams: Int { isMultiplexed ? capacity : 1 }

        /// The number of connections in use.
        var connections: Int {
            guard isMultiplexed else { return active }
            return shares.isEmpty ? max(used(by: active), shared) : shares.reduce(0) { $0 + inUse($1) }
        }

        /// Returns the number of an engine's connections in use.
        private func inUse(_ share: Share) -> Int {
            isMultiplexed ? max(used(by: share.active), share.shared) : share.active
        }

        /// Returns the number of connections that a number of requests use. A server may allow fewer streams than there are already.
        private func used(by requests: Int) -> Int {
            isMultiplexed ? min((requests + capacity - 1) / capacity, sharedLimit) : requests
        }

        /// Sets the kind of the connections. Returns the change of the number of connections in use.
        mutating func setSharing(_ sharing: Sharing) -> Int { change { $0.sharing = sharing } }

        /// Sets the number of requests that a shared connection carries. Returns the change of the number of connections in use.
        mutating func setCapacity(_ capacity: Int) -> Int { change { $0.capacity = max(capacity, 1) } }

        /// Sets the number of shared connections in use of an engine; `nil` if the session has one engine. Returns the change of the number
        /// of connections in use.
        mutating func setShared(_ count: Int, on engine: Int?) -> Int {
            change { origin in
                guard let engine else { return origin.shared = count }
                origin.modify(engine) { $0.shared = count }
            }
        }

        /// Returns the number of connections by which a number of an engine's shared connections exceeds those in use.
        func excess(of count: Int, on engine: Int?) -> Int {
            guard let engine else { return count - connections }
            return count - (shares.indices.contains(engine) ? inUse(shares[engine]) : 0)
        }

        /// Returns whether the limit of shared connections leaves some more.
        func mayShareMore(_ count: Int) -> Bool { connections + count <= sharedLimit }

        private mutating func change(_ body: (inout Origin) -> Void) -> Int {
            let before = connections
            body(&self)
            for engine in shares.indices { setOpen(shares[engine].open, on: engine) }
            return connections - before
        }

        // These methods are mutating only because the compiler copies the complete origin for others.

        /// Returns whether the origin has a name.
        mutating func isNamed(_ name: String) -> Bool { self.name == name }

        /// Returns whether requests wait.
        mutating func hasWaiting() -> Bool { waitingCount > 0 }

        /// Returns whether the kind of the connections is another one.
        mutating func differs(from sharing: Sharing) -> Bool { self.sharing != sharing }

        /// Returns the room for one more request.
        ///
        /// - Parameters:
        ///   - limit: The maximum number of connections.
        ///   - requests: The maximum number of requests.
        ///   - engine: The engine of the request; `nil` if the session has one engine.
        mutating func room(perOrigin limit: Int, requests: Int, engine: Int?) -> Room {
            if case .probed = sharing { return .none }
            guard active < requests else { return .none }
            if isMultiplexed {
                if engine.map({ hasStream(on: $0) }) ?? (active < connections * capacity) { return .stream }
            }
            return connections < self.limit(limit) ? .connection : .none
        }

        /// Returns the maximum number of connections: of shared ones if requests share them.
        func limit(_ exclusive: Int) -> Int { isMultiplexed ? sharedLimit : exclusive }

        /// Changes the number of active requests. Returns the change of the number of connections in use.
        mutating func changeActive(by change: Int) -> Int {
            let before = connections
            active += change
            return connections - before
        }

        // MARK: Engines

        /// Records the requests that got their slots before the session had several engines.
        mutating func adopt() {
            modify(0) { [active, connections, shared] in
                $0 = Share(open: connections, active: active, shared: shared)
            }
            shared = 0
        }

        /// Counts a request on an engine. Returns whether the engine opens a connection for it.
        mutating func begin(on engine: Int) -> Bool {
            active += 1
            modify(engine) { $0.active += 1 }
            guard shares[engine].open < inUse(shares[engine]) else { return false }
            modify(engine) { $0.open += 1 }
            return true
        }

        /// Removes a request from an engine. Its connection becomes idle with a release that has a number.
        mutating func end(on engine: Int, release: UInt64) {
            active -= 1
            modify(engine) { share in
                share.active -= 1
                share.lastRelease = release
            }
        }

        /// Returns the number of the last release of a connection on an engine.
        func lastRelease(on engine: Int) -> UInt64 { shares.indices.contains(engine) ? shares[engine].lastRelease : 0 }

        /// Returns the number of connections that an engine has open.
        func openCount(on engine: Int) -> Int { shares.indices.contains(engine) ? shares[engine].open : 0 }

        /// Returns whether an engine has an idle connection, or room on a shared one.
        func hasRoom(on engine: Int) -> Bool {
            shares.indices.contains(engine) && shares[engine].active < shares[engine].open * streams
        }

        /// Returns whether an engine has so many more connections than another that the other one gets one of them. The difference is never
        /// reversed by that, so that connections are exchanged only until the numbers are even.
        func isUneven(_ engine: Int, _ other: Int) -> Bool { openCount(on: engine) >= openCount(on: other) + 2 }

        /// Closes an idle connection. Returns its engine; `nil` if no connection is idle.
        mutating func closeIdle() -> Int? {
            guard let engine = idleEngine else { return nil }
            modify(engine) { $0.open -= 1 }
            return engine
        }

        /// The first engine with an idle connection; `nil` if no connection is idle.
        var idleEngine: Int? {
            shares.indices.first { shares[$0].open > inUse(shares[$0]) }
        }

        /// Sets the number of connections of an engine, which are at least those that its requests need.
        mutating func setOpen(_ count: Int, on engine: Int) {
            guard shares.indices.contains(engine) || count > 0 else { return }
            while shares.count <= engine { shares.append(Share()) }
            let used = inUse(shares[engine])
            modify(engine) { $0.open = max(count, used) }
        }

        // MARK: Waiting

        /// Adds a request to those that wait. One that waits already moves to the end, and is counted once. Returns whether it is new.
        mutating func wait(_ id: ID, _ priority: RequestPriority, on engine: Int) -> Bool {
            while lines.count <= engine { lines.append(Line()) }
            let count = lines[engine].queue.count
            if count == 0 { lines[engine].since = served }
            lines[engine].queue.enter(id, priority)
            waitingCount += lines[engine].queue.count - count
            return lines[engine].queue.count > count
        }

        /// Removes a waiting request. Returns `false` if it does not wait.
        mutating func leave(_ id: ID, on engine: Int) -> Bool {
            guard lines.indices.contains(engine), lines[engine].queue.leave(id) else { return false }
            waitingCount -= 1
            return true
        }

        /// Removes the next waiting request of an engine.
        mutating func next(on engine: Int) -> ID? {
            guard let id = lines[engine].queue.next() else { return nil }
            waitingCount -= 1
            served += 1
            lines[engine].since = served
            return id
        }

        /// Returns the number of requests that wait on an engine.
        func waitingCount(on engine: Int) -> Int { lines.indices.contains(engine) ? lines[engine].queue.count : 0 }

        /// Returns the number of requests ahead of a waiting one on its engine.
        func countAhead(of id: ID) -> Int? { lines.lazy.compactMap { $0.queue.countAhead(of: id) }.first }

        /// Returns the number of requests that would be ahead of a new one of a rank, on all engines.
        func countAhead(ofRank rank: Int) -> Int { lines.reduce(0) { $0 + $1.queue.countAhead(ofRank: rank) } }

        /// Returns the last request of the highest rank, which gives way to all others. It is a given one if that has the rank: the given
        /// request was the last to come, on whatever engine.
        func lastWaiting(rank: Int, _ id: ID) -> (id: ID, rank: Int)? {
            guard let last = lines.lazy.compactMap(\.queue.lastRank).max() else { return nil }
            if last <= rank { return (id, rank) }
            let line = lines.max { $0.queue.count(ofRank: last) < $1.queue.count(ofRank: last) }
            return line?.queue.last(ofRank: last).map { ($0, last) }
        }

        /// Returns the engine whose next request is served next; `nil` if none waits.
        ///
        /// Of the requests with the highest priority, one on an engine with an idle connection comes first, so that connections are seldom
        /// closed for others. An engine with fewer connections for more requests gets one of them, and so does an engine whose requests
        /// were overtaken by four times as many as the origin has connections.
        ///
        /// - Parameter requests: The maximum number of requests. Without one, a stream on a shared connection takes nothing from the
        ///   requests that wait for a connection on another engine, and does not wait for them.
        func nextEngine(requests: Int) -> Int? {
            guard lines.count > 1 else { return waitingCount > 0 ? 0 : nil }
            if requests == .max, let engine = engineWithStream { return engine }
            var (oldest, rank): (Int?, Int) = (nil, .max)
            for engine in lines.indices where lines[engine].queue.count > 0 {
                if oldest.map({ lines[engine].since < lines[$0].since }) ?? true { oldest = engine }
                rank = min(rank, lines[engine].queue.nextRank ?? .max)
            }
            guard let oldest else { return nil }
            if served - lines[oldest].since > 4 * max(openCount, 1) { return oldest }
            var (neediest, idle): (Int?, Int?) = (nil, nil)
            for engine in lines.indices where lines[engine].queue.nextRank == rank {
                if neediest.map({ isNeedier(engine, than: $0) }) ?? true { neediest = engine }
                if idle == nil, hasRoom(on: engine) { idle = engine }
            }
            guard let neediest, let idle else { return neediest }
            return isUneven(idle, neediest) && isNeedier(neediest, than: idle) ? neediest : idle
        }

        /// The engine with room for a stream whose next request has the highest priority; `nil` if none has a stream for its requests.
        private var engineWithStream: Int? {
            guard isMultiplexed else { return nil }
            var (best, rank): (Int?, Int) = (nil, .max)
            for engine in lines.indices where hasStream(on: engine) {
                guard let next = lines[engine].queue.nextRank, next < rank else { continue }
                (best, rank) = (engine, next)
            }
            return best
        }

        /// Returns whether the connections in use of an engine have room for a stream, if requests share them.
        private func hasStream(on engine: Int) -> Bool {
            shares.indices.contains(engine) && shares[engine].active < inUse(shares[engine]) * capacity
        }

        /// Returns whether more requests wait for each connection of an engine than for each of another one.
        private func isNeedier(_ engine: Int, than other: Int) -> Bool {
            waitingCount(on: engine) * openCount(on: other) > waitingCount(on: other) * openCount(on: engine)
        }

        private mutating func modify(_ engine: Int, _ body: (inout Share) -> Void) {
            while shares.count <= engine { shares.append(Share()) }
            openCount -= shares[engine].open
            body(&shares[engine])
            openCount += shares[engine].open
        }
    }
}
