/// The gate before libcurl, in which transfers wait for a stream on a shared connection. It belongs to the engine thread.
///
/// libcurl does not tell how many streams a server allows, and opens another connection for each transfer that finds no room. The gate
/// learns the limit from this: at the moment at which libcurl opens a connection, each existing one is full. It bounds the number of
/// connections by refusing the socket of one too many, after which the transfer waits for a stream to end. While a connection is being
/// made, no others are made for the transfers that will find room on it.
///
/// A limit that is learned can be too low, because a server may raise it, and because libcurl also passes over a connection whose server
/// has sent GOAWAY. Therefore the gate lets one transfer more than the limit pass from time to time.
///
/// On a new connection, libcurl assumes the limit of ``assumedLimit`` until the server's SETTINGS arrive, which libcurl does not report. If
/// the server is known to have a lower limit, the gate therefore lets no transfer pass until the first response on the connection, or for
/// ``settlingTime``.
final class StreamGate: EngineTimerTarget, @unchecked Sendable {
    // Unchecked: every member except the constants is only accessed on the engine thread.

    /// The part of the gate that a transfer is in.
    enum Use {
        case none
        /// The transfer waits for a stream.
        case waiting
        /// The transfer has waited, and is about to be passed to libcurl.
        case released
        /// The transfer makes a connection.
        case connecting
        /// The transfer has a stream.
        case streaming
    }

    /// The number of streams on a connection whose server has named no limit, which is libcurl's own limit.
    static let assumedLimit = 100
    /// The time after which the SETTINGS of a new connection are assumed to have arrived.
    static let settlingTime: Duration = .milliseconds(200)
    /// The time between two transfers that may exceed a limit that was learned.
    private static let probeInterval: Duration = .seconds(1)
    /// The number of origins without transfers whose limits are kept.
    private static let rememberedOrigins = 256

    /// A connection that carries streams.
    private struct Connection {
        var streams = 0
        var limit: Int
        /// The instant at which the server's limit is assumed to be known to libcurl.
        var settled: EngineInstant
        var room: Int { max(limit - streams, 0) }
    }

    /// An origin with shared connections.
    private final class Origin {
        let name: String
        /// The connections in use by their local ports.
        var connections: [Int32: Connection] = [:]
        /// The number of connections that are being made.
        var connecting = 0
        /// The waiting transfers; those that were cancelled stay until their turn.
        var line = FIFO<Transfer>()
        /// The waiting transfers that libcurl had before, which are first.
        var returned = FIFO<Transfer>()
        /// The number of transfers in `line` and `returned` that wait.
        var waitingCount = 0
        /// The number of transfers that are about to be passed to libcurl.
        var released = 0
        /// The number of streams that the server allows on a connection, as far as it was learned.
        var limit = StreamGate.assumedLimit
        var nextProbe = EngineInstant(nanoseconds: 0)
        /// Indicates whether the budget is to resume this origin when a connection of another engine ends.
        var awaitsBudget = false

        init(_ name: String) { self.name = name }

        /// Indicates whether libcurl may not know the limit of a connection.
        func isSettling(_ now: EngineInstant) -> Bool {
            limit < StreamGate.assumedLimit && connections.values.contains { $0.settled > now }
        }

        var isUnused: Bool { connections.isEmpty && connecting == 0 && waitingCount == 0 && released == 0 }
        var room: Int { connections.values.reduce(0) { $0 + $1.room } }
    }

    private let executor: EngineExecutor
    private let budget: ConnectionBudget
    /// Indicates whether connections are shared at all.
    private let isUsed: Bool
    private var origins: [String: Origin] = [:]
    private var last: Origin?
    /// The transfers that have waited, and are to be passed to libcurl.
    private(set) var resumed: [Transfer] = []
    /// The timer for the ends of settling times, and for limits that may have been raised; `nil` if no transfer waits.
    private var timer: EngineTimer?

    init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        budget = configuration.connections
        isUsed = LibcurlFeatures.current.canMultiplex && configuration.unixSocketPath == nil
    }

    /// Indicates whether transfers wait.
    var isBusy: Bool { !resumed.isEmpty || origins.values.contains { $0.waitingCount > 0 } }

    /// The number of waiting transfers.
    var waitingCount: Int { origins.values.reduce(0) { $0 + $1.waitingCount } }

    /// Returns the number of streams that the server of an origin is known to allow on each connection.
    func streamLimit(_ origin: String) -> Int { origins[origin]?.limit ?? Self.assumedLimit }

    private func origin(_ transfer: Transfer) -> Origin? {
        guard !origins.isEmpty else { return nil }
        let name = transfer.options.url.origin
        if let last, last.name == name { return last }
        last = origins[name]
        return last
    }

    // MARK: Before libcurl

    /// Returns whether a transfer may be passed to libcurl now. Otherwise the transfer waits, and is returned later.
    func admits(_ transfer: Transfer) -> Bool {
        guard isUsed, transfer.options.mayBeHTTP2, let origin = origin(transfer) else { return true }
        if transfer.streamUse == .released {
            transfer.streamUse = .none
            origin.released -= 1
            // A connection may have been made in the meantime, on which libcurl would send the request at once.
            guard origin.isSettling(executor.engineLoop.systemNow) else { return true }
            resumed += wait(transfer)
            return false
        }
        if origin.waitingCount == 0, hasRoom(origin) { return true }
        transfer.streamUse = .waiting
        origin.line.append(transfer)
        origin.waitingCount += 1
        // The longer line may be worth another connection.
        resumed += release(origin)
        return false
    }

    /// Returns whether a transfer may be passed to libcurl.
    private func hasRoom(_ origin: Origin) -> Bool {
        guard !origin.isSettling(executor.engineLoop.systemNow) else { return false }
        return origin.room > origin.released || mayConnect(origin) || mayProbe(origin)
    }

    /// Returns whether one more connection may be made, as far as this engine knows.
    private func mayConnect(_ origin: Origin) -> Bool {
        let connecting = origin.connecting + max(origin.released - origin.room, 0)
        guard origin.connections.count + connecting < budget.perOrigin else { return false }
        // A connection that is being made has room for the limit of streams, of which one is taken.
        return origin.waitingCount >= connecting * (origin.limit - 1)
    }

    private func mayProbe(_ origin: Origin) -> Bool {
        let now = executor.engineLoop.systemNow
        guard !origin.connections.isEmpty, origin.limit < Self.assumedLimit, origin.nextProbe <= now else {
            return false
        }
        origin.nextProbe = now.advanced(by: Self.probeInterval)
        return true
    }

    /// Returns the transfers for which there is room now.
    private func release(_ origin: Origin) -> [Transfer] {
        var transfers: [Transfer] = []
        while origin.waitingCount > 0, hasRoom(origin), let transfer = next(origin) { transfers.append(transfer) }
        setTimer(for: origin)
        return transfers
    }

    // MARK: Time

    private func setTimer(for origin: Origin) {
        guard origin.waitingCount > 0, origin.limit < Self.assumedLimit else { return }
        let isSettling = origin.isSettling(executor.engineLoop.systemNow)
        let deadline = executor.now.advanced(by: isSettling ? Self.settlingTime : Self.probeInterval)
        if let timer, timer.deadline.map({ $0 <= deadline }) ?? false { return }
        let timer = timer ?? EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: deadline)
    }

    /// Lets transfers pass that wait for a connection to settle, or for a limit that may have been raised.
    func timerIsDue() {
        timer = nil
        for origin in origins.values where origin.waitingCount > 0 { resumed += release(origin) }
    }

    private func next(_ origin: Origin) -> Transfer? {
        while let transfer = origin.returned.popFirst() ?? origin.line.popFirst() {
            guard transfer.streamUse == .waiting else { continue }
            transfer.streamUse = .released
            origin.waitingCount -= 1
            origin.released += 1
            return transfer
        }
        return nil
    }

    // MARK: In libcurl

    /// Returns whether libcurl may make a connection for a transfer. Otherwise the transfer ends with a failure to connect, and then waits
    /// (``wait(_:)``).
    func mayConnect(_ transfer: Transfer) -> Bool {
        guard isUsed, transfer.options.mayBeHTTP2, let origin = origin(transfer) else { return true }
        // libcurl may try several addresses.
        guard transfer.streamUse != .connecting else { return true }
        let fullest = origin.connections.values.map(\.streams).max()
        if let fullest {
            origin.limit = min(fullest, Self.assumedLimit)
            for (port, connection) in origin.connections { origin.connections[port]?.limit = connection.streams }
        }
        guard mayConnect(origin), beginConnection(origin) else { return false }
        if fullest != nil || origin.connecting > 0 {
            transfer.addedConnection = AddedConnection(
                number: origin.connections.count + origin.connecting + 1, streamLimit: origin.limit)
        }
        transfer.streamUse = .connecting
        origin.connecting += 1
        return true
    }

    private func beginConnection(_ origin: Origin) -> Bool {
        let name = origin.name
        let whenFree = origin.awaitsBudget ? nil : resumption(of: name)
        guard !budget.begin(name, whenFree: whenFree) else { return true }
        origin.awaitsBudget = true
        return false
    }

    private func resumption(of name: String) -> @Sendable () -> Void {
        { [self] in executor.submit { self.budgetHasRoom(name) } }
    }

    private func budgetHasRoom(_ name: String) {
        guard let origin = origins[name] else { return }
        origin.awaitsBudget = false
        resumed += release(origin)
    }

    /// Returns the transfers that have waited, and are to be passed to libcurl.
    func takeResumed() -> [Transfer] {
        defer { resumed = [] }
        return resumed
    }

    /// Records the connection on which a request is about to be sent. Returns the transfers for which there is room now.
    func isConnected(_ transfer: Transfer) -> [Transfer] {
        guard isUsed, transfer.options.mayBeHTTP2 else { return [] }
        // libcurl may send a request again, on another connection.
        var released = transfer.streamUse == .streaming ? didEnd(transfer) : []
        let port = transfer.localPort
        guard transfer.hadStreams, port > 0 else { return released + didEnd(transfer) }
        let origin = origin(transfer) ?? addOrigin(transfer.options.url.origin)
        let isNew = transfer.streamUse == .connecting
        if isNew { origin.connecting -= 1 }
        if origin.connections[port] == nil {
            if !isNew { budget.add(origin.name) }
            let now = executor.engineLoop.systemNow
            let settled = transfer.hasOpenedSocket ? now.advanced(by: Self.settlingTime) : now
            origin.connections[port] = Connection(limit: origin.limit, settled: settled)
        } else if isNew {
            budget.end(origin.name)
        }
        transfer.streamUse = .streaming
        transfer.streamPort = port
        origin.connections[port]?.streams += 1
        if let connection = origin.connections[port], connection.streams > connection.limit,
            connection.settled <= executor.engineLoop.systemNow
        {
            origin.connections[port]?.limit = connection.streams
            origin.limit = min(max(origin.limit, connection.streams), Self.assumedLimit)
            origin.nextProbe = EngineInstant(nanoseconds: 0)
        }
        released += release(origin)
        return released
    }

    /// Records the first bytes of a response, before which the server's SETTINGS have arrived. Returns the transfers for which there is
    /// room now.
    func isAnswered(_ transfer: Transfer) -> [Transfer] {
        guard let origin = origin(transfer), let connection = origin.connections[transfer.streamPort],
            connection.settled.nanoseconds > 0
        else { return [] }
        origin.connections[transfer.streamPort]?.settled = EngineInstant(nanoseconds: 0)
        return release(origin)
    }

    private func addOrigin(_ name: String) -> Origin {
        if origins.count >= Self.rememberedOrigins { origins = origins.filter { !$0.value.isUnused } }
        let origin = Origin(name)
        origins[name] = origin
        last = origin
        return origin
    }

    // MARK: Leaving

    /// Lets a transfer wait whose connection was refused. Returns the transfers for which there is room now.
    func wait(_ transfer: Transfer) -> [Transfer] {
        guard let origin = origin(transfer) else { return [] }
        transfer.streamUse = .waiting
        origin.returned.append(transfer)
        origin.waitingCount += 1
        setTimer(for: origin)
        // The last stream may have ended in the meantime, so that nothing else would end the wait.
        return origin.connections.isEmpty && origin.connecting == 0 && !origin.awaitsBudget ? release(origin) : []
    }

    /// Removes a transfer that has ended. Returns the transfers for which there is room now.
    func didEnd(_ transfer: Transfer) -> [Transfer] {
        let use = transfer.streamUse
        guard use != .none, let origin = origin(transfer) else { return [] }
        transfer.streamUse = .none
        switch use {
        case .none: break
        case .waiting: origin.waitingCount -= 1
        case .released: origin.released -= 1
        case .connecting:
            origin.connecting -= 1
            budget.end(origin.name)
        case .streaming:
            origin.connections[transfer.streamPort]?.streams -= 1
            if origin.connections[transfer.streamPort]?.streams == 0 {
                origin.connections[transfer.streamPort] = nil
                budget.end(origin.name)
            }
        }
        return release(origin)
    }

    /// Ends the use of all connections because libcurl ends. Returns the transfers that waited.
    func close() -> [Transfer] {
        var waiting = resumed
        resumed = []
        for origin in origins.values {
            for _ in 0..<(origin.connections.count + origin.connecting) { budget.end(origin.name) }
            while let transfer = next(origin) { waiting.append(transfer) }
        }
        for transfer in waiting { transfer.streamUse = .none }
        origins = [:]
        last = nil
        timer = nil
        return waiting
    }

    // MARK: Errors

    /// Returns the reason why a transfer waits, for errors; `nil` if it does not wait here.
    func reason(for transfer: Transfer) -> String? {
        guard transfer.streamUse == .waiting, let origin = origin(transfer) else { return nil }
        let connections = "all \(origin.connections.count + origin.connecting) connections to \(origin.name)"
        return "\(connections) carry as many requests as the server allows (\(origin.limit) each)"
    }
}

/// A connection that was opened because every other connection to the origin carries as many streams as the server allows.
package struct AddedConnection: Hashable, Sendable {
    /// The number of connections to the origin in use, including this one.
    package let number: Int
    /// The number of streams that the server allows on each.
    package let streamLimit: Int
}
