/// An origin whose connections may be shared, with its connections on one engine and the transfers that wait for them in the
/// ``StreamGate``.
final class SharedOrigin {
    /// The known kind of an origin's connections.
    enum Sharing {
        /// No connection was made yet.
        case unknown
        /// Each connection carries one request at a time.
        case exclusive
        /// Each connection carries streams.
        case shared
    }

    /// The number of streams on a connection whose server has named no limit, which is libcurl's own limit.
    static let assumedLimit = 100
    /// The time after which the SETTINGS of a new connection are assumed to have arrived.
    static let settlingTime: Duration = .milliseconds(200)

    /// A connection that carries streams.
    private struct Connection {
        var streams = 0
        var limit: Int
        /// Whether the connection gets no more requests: libcurl has repeated one of its requests elsewhere, or the connection
        /// is in a pool with another number than ``SharedOrigin/scope``.
        var isLeft = false
        var room: Int { isLeft ? 0 : max(limit - streams, 0) }
    }

    /// The name of the pool of connections.
    let name: String
    /// The name by which the connections are counted (``TransferOptions/limitName``).
    let limitName: String
    /// The receiver of the places for connections; `nil` if that is the gate itself.
    let places: AddressPlaces?
    /// The local ports of the open connections that no stream uses.
    var idlePorts: Set<Int32> = []
    var sharing = Sharing.unknown
    /// The connections in use by their local ports.
    private var connections: [Int32: Connection] = [:]
    /// The number of further streams that the connections in use have room for.
    private(set) var room = 0
    /// The new connections by their local ports, with the instants at which the server's limit is assumed to be known to libcurl.
    private var settling: [Int32: EngineInstant] = [:]
    /// The number of streams that the server allows on a connection, as far as it was learned.
    private(set) var limit = SharedOrigin.assumedLimit
    /// The instant from which one transfer may exceed the learned limit.
    var nextProbe = EngineInstant(nanoseconds: 0)

    /// The places for connections that the origin has, needs and owes.
    var permits = ConnectionPermits()
    /// The number of waiting transfers that precede the engines or origins to which places are owed.
    var precedingCount = 0
    /// The time for which streams are withheld, with its end and the end of the pause after it.
    private var drain = (time: Duration.zero, end: EngineInstant(nanoseconds: 0), pause: EngineInstant(nanoseconds: 0))
    /// The last instant at which transfers have waited because of a limit; `nil` if none has.
    var limitEnd: EngineInstant?
    /// Whether the last connection could not be made.
    var hasFailed = false

    /// The waiting transfers.
    private var line = AgingQueue<Transfer>()
    /// The number of waiting transfers.
    var waitingCount: Int { line.count }
    /// The number of transfers that have waited, and are about to be passed to libcurl for a stream.
    var released = 0

    init(_ name: String, limitName: String? = nil, places: AddressPlaces? = nil) {
        self.name = name
        self.limitName = limitName ?? name
        self.places = places
    }

    /// The number of connections in use.
    var connectionCount: Int { connections.count }

    /// The number of places of the ``ConnectionBudget`` that the origin has.
    var placeCount: Int { connections.count + permits.connecting + permits.reserved + permits.granted }

    var isUnused: Bool {
        placeCount == 0 && waitingCount == 0 && released == 0 && !permits.awaitsPlace && idlePorts.isEmpty
    }

    /// The number of idle connections, less those that libcurl is about to use for places that were granted or requested.
    var idleCount: Int { max(idlePorts.count - permits.reserved - permits.granted - (permits.awaitsPlace ? 1 : 0), 0) }

    // MARK: Connections

    /// The number that is part of the name of libcurl's pool. With another number, libcurl uses none of the present connections.
    private(set) var scope = 0

    /// Lets further streams use none of the present connections, unless they already leave this one.
    ///
    /// - Parameter scope: The number for the name of libcurl's pool.
    func leave(_ port: Int32, scope: Int) -> Bool {
        guard connections[port]?.isLeft == false else { return false }
        self.scope = scope
        leaveConnections()
        return true
    }

    /// Lets further streams use only the connections of the pool without a number. A silent connection is among them as long as it has
    /// streams: libcurl makes no connection to an address of a link in any other pool.
    func returnToFirstPool() {
        scope = 0
        leaveConnections()
    }

    /// Returns whether streams use a connection.
    func hasStreams(on port: Int32) -> Bool { connections[port] != nil }

    /// Adds a stream to a connection. Returns whether the connection was not in use before.
    ///
    /// - Parameters:
    ///   - isNew: Whether the connection was just made.
    ///   - scope: The number in the name of the pool in which libcurl has found the connection, or has put it.
    func beginStream(on port: Int32, isNew: Bool, scope: Int, now: EngineInstant) -> Bool {
        let wasUnused = connections[port] == nil
        if wasUnused {
            idlePorts.remove(port)
            connections[port] = Connection(limit: limit)
            room += limit
            if isNew { settling[port] = now.advanced(by: Self.settlingTime) }
        }
        let isSettled = settling[port].map { $0 <= now } ?? true
        var excess: Int?
        modify(port) { connection in
            connection.streams += 1
            connection.isLeft = scope != self.scope
            guard connection.streams > connection.limit, isSettled else { return }
            connection.limit = connection.streams
            excess = connection.streams
        }
        if let excess {
            limit = min(max(limit, excess), Self.assumedLimit)
            nextProbe = EngineInstant(nanoseconds: 0)
        }
        return wasUnused
    }

    /// Removes a stream from a connection. Returns whether the connection is no longer in use.
    ///
    /// - Parameter isRepeated: Whether libcurl repeats the request on another connection.
    func endStream(on port: Int32, isRepeated: Bool) -> Bool {
        modify(port) { connection in
            connection.streams -= 1
            if isRepeated { connection.isLeft = true }
        }
        guard let connection = connections[port], connection.streams == 0 else { return false }
        room -= connection.room
        connections[port] = nil
        settling[port] = nil
        return true
    }

    /// Records that the present connections get no more streams.
    func leaveConnections() {
        for index in connections.values.indices { connections.values[index].isLeft = true }
        room = 0
    }

    private func modify(_ port: Int32, _ change: (inout Connection) -> Void) {
        guard let index = connections.index(forKey: port) else { return }
        room -= connections.values[index].room
        change(&connections.values[index])
        room += connections.values[index].room
    }

    /// The number of further streams that the settled connections have room for.
    var settledRoom: Int { settling.keys.reduce(room) { $0 - (connections[$1]?.room ?? 0) } }

    // MARK: Places for others

    /// The time for which streams are withheld at first, and at most.
    private static let drainTimes: (first: Duration, maximum: Duration) = (.seconds(1), .seconds(8))

    /// Sets the number of connections whose places others wait for.
    func owe(_ count: Int) {
        if permits.owed == 0, count > 0 {
            precedingCount = waitingCount
            drain.time = .zero
        }
        permits.owed = count
    }

    /// Returns the number of streams that stay unused now, so that connections become unused.
    ///
    /// libcurl uses its oldest connection with room. If the streams in use fit on the other connections, the newest ones therefore become
    /// unused. Requests that last long may prevent this. Therefore streams are withheld only for a time, and then not for twice that time.
    func withheldRoom(_ now: EngineInstant) -> Int {
        guard permits.owed > 0 else { return 0 }
        // Some of the preceding transfers may have left.
        precedingCount = min(precedingCount, waitingCount)
        guard precedingCount == 0 else { return 0 }
        if drain.time == .zero || drain.pause <= now {
            drain.time = drain.time == .zero ? Self.drainTimes.first : min(drain.time * 2, Self.drainTimes.maximum)
            drain.end = now.advanced(by: drain.time)
            drain.pause = drain.end.advanced(by: drain.time * 2)
        }
        return now < drain.end ? permits.owed * limit : 0
    }

    // MARK: The limit

    /// Learns the limit at the moment at which libcurl opens a connection, when every other one is full.
    func learnLimit() {
        guard let fullest = connections.values.lazy.filter({ !$0.isLeft }).map(\.streams).max() else { return }
        limit = min(fullest, Self.assumedLimit)
        for index in connections.values.indices {
            connections.values[index].limit = connections.values[index].streams
        }
        room = 0
    }

    /// Learns from a refused stream that a connection has more streams than the server allows.
    func learnRefusal(on port: Int32) {
        guard let streams = connections[port]?.streams else { return }
        limit = min(limit, max(streams - 1, 1))
        modify(port) { $0.limit = limit }
    }

    /// Returns whether libcurl may not know the limit of a connection.
    func isSettling(_ now: EngineInstant) -> Bool {
        guard limit < Self.assumedLimit, !settling.isEmpty else { return false }
        if settling.values.contains(where: { $0 <= now }) { settling = settling.filter { $0.value > now } }
        return !settling.isEmpty
    }

    /// Records that libcurl knows the limit of a connection. Returns whether it was not known before.
    func settle(_ port: Int32) -> Bool { !settling.isEmpty && settling.removeValue(forKey: port) != nil }

    // MARK: Waiting

    /// Gives a transfer that need not wait its place in the order of arrival, for the case that libcurl has no stream for it.
    func pass(_ transfer: Transfer) {
        if transfer.place.ticket == 0 { transfer.place.ticket = line.takeTicket() }
    }

    /// Adds a transfer to the waiting ones. A transfer that has waited before, or was passed to libcurl, keeps its place.
    func enter(_ transfer: Transfer) {
        transfer.place.use = .waiting
        let ticket = transfer.place.ticket == 0 ? nil : transfer.place.ticket
        transfer.place.ticket = line.enter(transfer, rank: transfer.options.rank, ticket: ticket)
    }

    /// Removes and returns the first waiting transfer; `nil` if none waits.
    func next() -> Transfer? { line.next() }

    /// Removes a waiting transfer.
    func leave(_ transfer: Transfer) {
        transfer.place.use = .none
        line.leave(transfer)
    }
}
