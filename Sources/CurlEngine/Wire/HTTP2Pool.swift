/// The HTTP/2 connections to one origin by one route, and the transfers that may share them.
///
/// While the first connection is made, the other transfers wait for the protocol that the server agrees on. HTTP/2 takes them all, up to
/// the limit of streams; over HTTP/1.1, each makes its own connection at once.
final class HTTP2Pool {
    /// The number of streams for which a connection counts that is being made.
    static let assumedStreams = 100
    /// The time for which a server counts as one without HTTP/2.
    private static let memory = Duration.seconds(600)

    /// The name of the pool (``TransferOptions/wirePool``).
    let name: String
    /// The largest number of connections.
    private let maximum: Int
    private(set) var connections: [HTTP2Connection] = []
    /// The transfers that wait for a stream, or for the protocol of the server, and some that have left since.
    private var waiting = FIFO<Transfer>()
    /// The number of waiting transfers.
    private var waitingCount = 0
    /// The number of connections that are being made.
    private var leading = 0
    /// Whether the last attempt to make a connection has failed. The next transfers then connect at once, and not one after the other.
    private var hasFailed = false
    /// The time in which nothing is sent to a server that asks for calm.
    var calm = HTTP2Calm()
    /// Whether the server has spoken HTTP/2 last.
    private var speaksHTTP2 = false
    /// The instant up to which the server counts as one without HTTP/2.
    private var http1End: EngineInstant?

    init(_ name: String, maximum: Int) {
        self.name = name
        self.maximum = maximum
    }

    /// The way of a transfer to its connection.
    enum Way {
        /// A stream on this connection.
        case stream(HTTP2Connection)
        /// A new connection, whose protocol the server chooses.
        case connection
        /// A connection over HTTP/1.1.
        case http1
        /// A wait for one of the others.
        case wait
    }

    /// Returns the way of a transfer that has not waited.
    ///
    /// - Parameter hasIdle: Whether a connection over HTTP/1.1 is idle.
    func way(for transfer: Transfer, hasIdle: Bool, now: EngineInstant) -> Way {
        if transfer.wire.mustSpeakHTTP1 { return .http1 }
        if !transfer.wire.needsConnection, waitingCount == 0, let connection = connection(for: transfer) {
            return .stream(connection)
        }
        if !transfer.options.demandsHTTP2, connections.isEmpty {
            if let http1End, now < http1End { return .http1 }
            if hasIdle, leading == 0, !speaksHTTP2, !transfer.wire.needsConnection { return .http1 }
        }
        return mayConnect(for: transfer) ? .connection : .wait
    }

    /// The way of the transfer that has waited longest; `nil` if it waits further.
    var wayForNext: Way? {
        while let first = waiting.peek, first.wire.sharing != .waiting { _ = waiting.popFirst() }
        guard let transfer = waiting.peek else { return nil }
        if let connection = connection(for: transfer) { return .stream(connection) }
        return mayConnect(for: transfer) ? .connection : nil
    }

    /// Returns a connection with room for the stream of a transfer, if any.
    private func connection(for transfer: Transfer) -> HTTP2Connection? {
        // A connection that turns out to be dead leaves the list.
        for connection in connections where connection.isUsable(for: transfer) { return connection }
        return nil
    }

    /// Whether there is a connection that takes streams.
    var hasConnections: Bool { !connections.isEmpty }

    /// The reason why transfers wait.
    var reasonForWaiting: String {
        guard let first = connections.first else { return "another request is connecting to \(name)" }
        let carriers =
            connections.count == 1
            ? "the connection to \(name) carries" : "all \(connections.count) connections to \(name) carry"
        return "\(carriers) as many requests as the server allows (\(first.session?.capacity ?? 0) each)"
    }

    /// An idle connection, if any.
    var idleConnection: HTTP2Connection? { connections.first(where: \.isIdle) }

    private func mayConnect(for transfer: Transfer) -> Bool {
        guard leading > 0 else {
            return connections.count { $0.hasChain(for: transfer) } < maximum
                && !connections.contains(where: \.isInDoubt)
        }
        if hasFailed, connections.isEmpty { return true }
        return connections.count + leading < maximum
            && waitingCount >= leading * (Self.assumedStreams - 1)
    }

    /// Whether nothing is known or under way.
    func isUnused(_ now: EngineInstant) -> Bool {
        connections.isEmpty && leading == 0 && waitingCount == 0 && !calm.isOn(at: now)
            && http1End.map { $0 <= now } ?? true
    }

    // MARK: Transfers

    /// Records that a transfer makes a connection.
    func begin(_ transfer: Transfer) {
        transfer.connection.wire.sharing = .leading
        leading += 1
    }

    /// Lets a transfer wait.
    func wait(_ transfer: Transfer) {
        transfer.connection.wire.sharing = .waiting
        waiting.append(transfer)
        waitingCount += 1
    }

    /// Removes a transfer without a connection. Returns the transfers that start now in its place.
    func leave(_ transfer: Transfer) -> [Transfer] {
        let sharing = transfer.wire.sharing
        transfer.connection.wire.sharing = .none
        if sharing == .waiting {
            waitingCount -= 1
            // One search for many transfers.
            if waiting.count > 2 * waitingCount + 16 { waiting.removeAll { $0.wire.sharing != .waiting } }
        }
        guard sharing == .leading else { return [] }
        leading -= 1
        guard connections.isEmpty else { return serveSoon() }
        guard leading == 0 else { return [] }
        hasFailed = !transfer.isCancelled
        return take(hasFailed ? waitingCount : 1)
    }

    /// Lets the transfer that has waited longest make a connection at the end of the turn of the loop, if the other ones have no room.
    private func serveSoon() -> [Transfer] {
        connections.first?.isReady()
        return []
    }

    /// Records that a transfer got a connection over HTTP/1.1. Returns the transfers that start now.
    func didConnect(_ transfer: Transfer, now: EngineInstant) -> [Transfer] {
        transfer.connection.wire.sharing = .none
        leading -= 1
        hasFailed = false
        // Where HTTP/2 is spoken, a single server may lack it.
        guard connections.isEmpty else { return serveSoon() }
        speaksHTTP2 = false
        http1End = now.advanced(by: Self.memory)
        return take(waitingCount)
    }

    /// Adds the connection that a transfer has made.
    func add(_ connection: HTTP2Connection, of transfer: Transfer) {
        if transfer.wire.sharing == .leading { leading -= 1 }
        transfer.connection.wire.sharing = .none
        hasFailed = false
        (speaksHTTP2, http1End) = (true, nil)
        connections.append(connection)
    }

    /// Removes a connection, which gets no more streams.
    func remove(_ connection: HTTP2Connection) { connections.removeAll { $0 === connection } }

    /// Whether transfers wait.
    var hasWaiting: Bool { waitingCount > 0 }

    /// Removes and returns the transfer that has waited longest.
    func next() -> Transfer? { take(1).first }

    /// Removes and returns all waiting transfers.
    func takeAll() -> [Transfer] { take(waitingCount) }

    private func take(_ count: Int) -> [Transfer] {
        var taken: [Transfer] = []
        while taken.count < count, let transfer = waiting.popFirst() {
            guard transfer.wire.sharing == .waiting else { continue }
            transfer.connection.wire.sharing = .none
            waitingCount -= 1
            taken.append(transfer)
        }
        return taken
    }
}

/// The pools of an engine.
struct HTTP2Pools {
    /// The largest number of connections of a pool.
    private let maximum: Int
    private var pools: [String: HTTP2Pool] = [:]
    /// The pool of the last transfer.
    private var last: HTTP2Pool?
    /// The number of pools from which on those are dropped that are not used.
    private var limit = 256
    /// The connections with frames to be sent at the end of the turn of the loop.
    var ready: [HTTP2Connection] = []

    init(maximum: Int) { self.maximum = maximum }

    /// Returns the pool with a name; `nil` if there is none.
    mutating func known(_ name: String) -> HTTP2Pool? {
        if let last, last.name == name { return last }
        guard let pool = pools[name] else { return nil }
        last = pool
        return pool
    }

    /// Returns the pool with a name.
    mutating func pool(_ name: String, now: EngineInstant) -> HTTP2Pool {
        if let pool = known(name) { return pool }
        if pools.count >= limit {
            pools = pools.filter { !$0.value.isUnused(now) }
            limit = max(256, 2 * pools.count)
        }
        let pool = HTTP2Pool(name, maximum: maximum)
        pools[name] = pool
        last = pool
        return pool
    }

    /// Forgets the fields of earlier requests.
    func forgetFields() {
        for pool in pools.values { for connection in pool.connections { connection.session?.forgetFields() } }
    }

    /// Returns the first pool that meets a condition.
    func first(where condition: (HTTP2Pool) -> Bool) -> HTTP2Pool? { pools.values.first(where: condition) }

    /// Removes all pools. Returns the transfers that wait.
    mutating func removeAll() -> [Transfer] {
        let waiting = pools.values.flatMap { $0.takeAll() }
        self = HTTP2Pools(maximum: maximum)
        return waiting
    }
}
