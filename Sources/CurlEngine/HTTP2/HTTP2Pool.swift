/// The HTTP/2 connections to one origin by one route, and the transfers that may share them.
///
/// While the first connection is made, the other transfers wait for the protocol that the server agrees on. HTTP/2 takes them all, up to
/// the limit of streams; over HTTP/1.1, each makes a connection at once.
final class HTTP2Pool {
    /// The time after the failure of a connection beside others before the next one is made.
    static let pause = Duration.seconds(1)
    /// The time after which a transfer gives up a connection beside others, and waits for a stream.
    static let patience = Duration.seconds(10)
    /// The time after which the limits of the session are asked again whether they leave another connection.
    static let limitPause = Duration.milliseconds(50)

    /// The name of the pool (``TransferOptions/wirePool``).
    let name: String
    /// The queue of the transfers (``TransferOptions/queue``).
    let queue: String
    /// The largest number of connections.
    private let maximum: Int
    private(set) var connections: [HTTP2Connection] = []
    private var line = HTTP2Line()
    /// The transfers that make a connection.
    private var leaders: Set<Transfer> = []
    /// Whether the last attempt to make a connection has failed. The next transfers then connect at once, and not one after the other.
    private var hasFailed = false
    /// The time in which nothing is sent to a server that asks for calm.
    var calm = HTTP2Calm()
    /// The protocol of the server.
    var memory = HTTP2Memory()
    /// The number of streams that the server has allowed on a connection last. A new connection counts for as many until its server's
    /// settings are known.
    var streams = HTTP2Limits.standard.streamsBeforeSettings
    /// The instant, on the system's clock, before which no connection is made beside others.
    var pauseEnd: EngineInstant?
    /// The instant, on the system's clock, before which the limits of the session leave no connection beside others.
    var limitEnd: EngineInstant?
    /// The number of connections in use that was told last, if there are several.
    private(set) var countedShared = 0

    init(_ name: String, queue: String = "", maximum: Int) {
        self.name = name
        self.queue = queue
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
        if !transfer.wire.needsConnection, let connection = connection(for: transfer) {
            // Those that wait come first, at the end of this turn of the loop.
            return line.isEmpty ? .stream(connection) : .wait
        }
        if !transfer.options.demandsHTTP2, connections.isEmpty {
            if memory.isHTTP1(at: now) { return .http1 }
            if hasIdle, leaders.isEmpty, !memory.speaksHTTP2, !transfer.wire.needsConnection { return .http1 }
        }
        return mayConnect(for: line.count + 1) ? .connection : .wait
    }

    /// The way of the transfer that is next; `nil` if it waits further.
    var wayForNext: Way? {
        guard let transfer = line.peek() else { return nil }
        if let connection = connection(for: transfer) { return .stream(connection) }
        return mayConnect(for: line.count) ? .connection : nil
    }

    /// Returns a connection with room for the stream of a transfer, if any.
    private func connection(for transfer: Transfer) -> HTTP2Connection? {
        // A connection that turns out to be dead leaves the list.
        if let connection = suitable(for: transfer) { return connection }
        // Without a place for another one, the server's certificate alone must do.
        guard transfer.options.readsCertificates, connections.count + leaders.count >= maximum || isLimited else {
            return nil
        }
        for connection in connections where connection.isUsable { return connection }
        return nil
    }

    /// Returns a connection with room for the stream of a transfer, and with the certificates that the transfer reads, if any.
    private func suitable(for transfer: Transfer) -> HTTP2Connection? {
        for connection in connections where connection.isUsable(for: transfer) { return connection }
        return nil
    }

    private var isLimited: Bool {
        guard let limitEnd, let first = connections.first else { return false }
        return first.now < limitEnd
    }

    /// Whether there is a connection that takes streams.
    var hasConnections: Bool { !connections.isEmpty }

    /// The number of connections that carry streams or are being made.
    var busyCount: Int { leaders.count + connections.count { !$0.isIdle } }

    /// Notes the number of connections in use, if there are several. Returns its change since the last call.
    func countShared() -> Int {
        let before = countedShared, count = busyCount
        countedShared = count > 1 ? count : 0
        return countedShared - before
    }

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

    private func mayConnect(for waiting: Int) -> Bool {
        if connections.isEmpty, leaders.isEmpty || hasFailed { return true }
        let count = connections.count + leaders.count
        // A connection that is being made has room for all of its streams but one.
        guard count < maximum, waiting > leaders.count * (streams - 1) else { return false }
        guard let first = connections.first else { return true }
        // A server that allows no streams now may allow them soon, and a server in doubt would not answer another connection either.
        guard streams > 0, !connections.contains(where: \.isInDoubt) else { return false }
        return pauseEnd.map { $0 <= first.now } ?? true
    }

    /// Returns whether nothing is under way, and nothing is known.
    ///
    /// - Parameter forgets: Whether the protocol of the server does not matter.
    func isUnused(_ now: EngineInstant, forgets: Bool) -> Bool {
        connections.isEmpty && leaders.isEmpty && line.isEmpty && !calm.isOn(at: now)
            && (forgets || !memory.isHTTP1(at: now))
    }

    // MARK: Transfers

    /// Records that a transfer makes a connection.
    func begin(_ transfer: Transfer) {
        transfer.connection.wire.sharing = .leading
        leaders.insert(transfer)
    }

    /// Lets a transfer wait.
    ///
    /// - Parameter isFirst: Whether the transfer has waited before, and is first.
    func wait(_ transfer: Transfer, isFirst: Bool = false) { line.append(transfer, isFirst: isFirst) }

    /// Removes a transfer without a connection. Returns the transfers that start now in its place.
    func leave(_ transfer: Transfer) -> [Transfer] {
        let sharing = transfer.wire.sharing
        transfer.connection.wire.sharing = .none
        if sharing == .waiting { line.didLeave() }
        guard sharing == .leading else { return [] }
        leaders.remove(transfer)
        guard connections.isEmpty else { return serveSoon() }
        guard leaders.isEmpty else { return [] }
        hasFailed = !transfer.isCancelled
        // All ask again: the first that is not cancelled leads.
        return line.take(line.count)
    }

    /// Lets the transfers that wait go on at the end of the turn of the loop, as far as there is room.
    @discardableResult
    func serveSoon() -> [Transfer] {
        connections.first?.isReady()
        return []
    }

    /// Returns a transfer that makes a connection although another one has room now, and that one; `nil` if there is none.
    func nextWithoutNeed() -> (Transfer, HTTP2Connection)? {
        guard hasConnections else { return nil }
        for transfer in leaders where Self.mayStopConnecting(transfer) {
            if let connection = suitable(for: transfer) { return (transfer, connection) }
        }
        return nil
    }

    /// Returns whether a transfer may give up the connection that it makes for a stream on another one. Others may wait for the result of a
    /// lookup.
    private static func mayStopConnecting(_ transfer: Transfer) -> Bool {
        !transfer.wire.needsConnection && !transfer.wire.isLookingUp && transfer.lookup == .none
            && !transfer.isCancelled && transfer.failure == nil
    }

    /// Records that a transfer got a connection over HTTP/1.1. Returns the transfers that start now.
    func didConnect(_ transfer: Transfer, now: EngineInstant) -> [Transfer] {
        transfer.connection.wire.sharing = .none
        leaders.remove(transfer)
        // The others that demand HTTP/2 find out at once, and not one after the other.
        hasFailed = transfer.options.version == .http2Only
        // Where HTTP/2 is spoken, a single server may lack it.
        guard connections.isEmpty else { return serveSoon() }
        memory.didChooseHTTP1(now: now)
        return line.take(line.count)
    }

    /// Adds the connection that a transfer has made.
    func add(_ connection: HTTP2Connection, of transfer: Transfer) {
        leaders.remove(transfer)
        transfer.connection.wire.sharing = .none
        hasFailed = false
        memory.didAgree()
        // The server has said that another one is the wrong one.
        if transfer.repetition.wasMisdirected { return connections.insert(connection, at: 0) }
        connections.append(connection)
        guard connections.count > 1 else { return }
        transfer.connection.added = AddedConnection(number: connections.count, streamLimit: streams)
    }

    /// Removes a connection, which gets no more streams.
    func remove(_ connection: HTTP2Connection) { connections.removeAll { $0 === connection } }

    /// Whether transfers wait.
    var hasWaiting: Bool { !line.isEmpty }

    /// Removes and returns the transfer that is next.
    func next() -> Transfer? { line.take(1).first }

    /// Removes and returns all waiting transfers.
    func takeAll() -> [Transfer] { line.take(line.count) }
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
    /// The number of pools from which on the protocols of servers are forgotten too.
    private static let memoryLimit = 4_096
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

    /// Returns the pool of a transfer.
    mutating func pool(for options: TransferOptions, now: EngineInstant) -> HTTP2Pool {
        let name = options.wirePool
        if let pool = known(name) { return pool }
        if pools.count >= limit {
            let forgets = pools.count >= Self.memoryLimit
            pools = pools.filter { !$0.value.isUnused(now, forgets: forgets) }
            last = nil
            limit = max(256, 2 * pools.count)
        }
        let pool = HTTP2Pool(name, queue: options.queue, maximum: maximum)
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
