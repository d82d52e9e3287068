/// The gate before libcurl, in which transfers wait for a stream on a shared connection. It belongs to the engine thread.
///
/// libcurl does not tell how many streams a server allows. It opens another connection for each transfer that finds no room, and at that
/// moment every existing connection is full: the gate learns the limit from this. A transfer without room needs a place for one more
/// connection from the ``ConnectionBudget``, or waits for a stream to end. The gate refuses the socket if libcurl opens a connection
/// without a place.
///
/// A learned limit can be too low: a server may raise it, and libcurl passes over a connection after GOAWAY. From time to time, the
/// gate lets one transfer exceed it.
///
/// Until the server's SETTINGS arrive, libcurl assumes ``SharedOrigin/assumedLimit``. If a lower limit is known, nothing passes before the
/// first response on the new connection, or for ``SharedOrigin/settlingTime``.
final class StreamGate: EngineTimerTarget, ConnectionReceiver, @unchecked Sendable {
    // Unchecked: every member except the constants is only accessed on the engine thread.

    /// The part of the gate that a transfer is in.
    enum Use {
        case none
        /// The transfer waits for a stream.
        case waiting
        /// The transfer has waited, and is about to be passed to libcurl for a stream.
        case released
        /// The transfer has a place for a connection, and libcurl has not decided yet which connection the transfer uses.
        case reserved
        /// The transfer makes a connection.
        case connecting
        /// The transfer has a stream.
        case streaming
    }

    /// The time between two transfers that may exceed a limit that was learned.
    private static let probeInterval: Duration = .seconds(1)
    /// The time between two looks at the bound on connections while it is exceeded: other engines may return places.
    private static let excessInterval: Duration = .milliseconds(100)

    let executor: EngineExecutor
    let budget: ConnectionBudget
    /// Whether connections are shared at all.
    private let isUsed: Bool
    private(set) var origins: [String: SharedOrigin] = [:]
    /// The number of origins at which the unused ones are removed.
    private var originLimit = 256
    private var last: SharedOrigin?
    /// The transfers that have waited, and are to be passed to libcurl.
    private(set) var resumed: [Transfer] = []
    /// The numbers of streams on the connections in use, by the local port.
    @exclusivity(unchecked) private var streamCounts: [Int32: Int] = [:]
    /// The local ports of the connections that libcurl has left with a stream, to repeat a request elsewhere.
    private var leftPorts: Set<Int32> = []
    /// The number of times that a pool of libcurl got another name.
    var scopeCount = 0
    /// The timer for the ends of settling times, and for limits that may have been raised; `nil` if no transfer waits.
    private var timer: EngineTimer?

    init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        budget = configuration.connections
        isUsed = LibcurlFeatures.current.canMultiplex
    }

    /// Whether transfers wait.
    var isBusy: Bool { !resumed.isEmpty || waitingCount > 0 }

    /// The number of waiting transfers.
    var waitingCount: Int { origins.values.reduce(0) { $0 + $1.waitingCount } }

    /// Returns the transfers that have waited, and are to be passed to libcurl.
    func takeResumed() -> [Transfer] {
        defer { resumed = [] }
        return resumed
    }

    /// Returns the local ports of the connections that libcurl has left with a stream since the last call.
    func takeLeftPorts() -> Set<Int32> {
        guard !leftPorts.isEmpty else { return [] }
        defer { leftPorts = [] }
        return leftPorts
    }

    // MARK: Origins

    /// Returns the origin of a transfer; `nil` if the transfer's connection is never shared.
    private func origin(_ transfer: Transfer) -> SharedOrigin? {
        guard isUsed, transfer.options.mayBeHTTP2, transfer.options.route.parts.socket == nil else { return nil }
        return knownOrigin(transfer) ?? addOrigin(transfer.options)
    }

    func knownOrigin(_ transfer: Transfer) -> SharedOrigin? {
        let name = transfer.options.pool
        if let last, last.name == name { return last }
        guard let origin = origins[name] else { return nil }
        last = origin
        return origin
    }

    private func addOrigin(_ options: TransferOptions) -> SharedOrigin {
        if origins.count >= originLimit {
            origins = origins.filter { !$0.value.isUnused }
            originLimit = max(256, 2 * origins.count)
        }
        let (name, limitName) = (options.pool, options.limitName)
        let places = options.route.hasOneOfSeveralAddresses ? AddressPlaces(name, of: self) : nil
        let origin = SharedOrigin(name, limitName: limitName, places: places)
        if options.isCertainlyHTTP2 { origin.sharing = .shared }
        origins[origin.name] = origin
        last = origin
        return origin
    }

    /// Returns whether a connection in use has room for a transfer.
    func hasRoom(for transfer: Transfer) -> Bool {
        guard isUsed, transfer.options.mayBeHTTP2, let origin = knownOrigin(transfer) else { return false }
        return origin.sharing == .shared && origin.room > origin.released
    }

    /// Returns whether streams use the connection with a local port; `nil` if the gate does not know. They may belong to several pools:
    /// libcurl also lets requests to one server share a connection that differ in the addresses that they allow.
    func isUsed(port: Int32) -> Bool? { unsafe isUsed ? streamCounts[port] != nil : nil }

    /// Returns the number of streams on the connection with a local port.
    func streamCount(port: Int32) -> Int { unsafe streamCounts[port] ?? 0 }

    // MARK: Before libcurl

    /// Returns whether a transfer may be passed to libcurl now. Otherwise the transfer waits, and is resumed later.
    func admits(_ transfer: Transfer) -> Bool {
        guard let origin = origin(transfer) else { return true }
        if transfer.place.ownConnection != .unneeded, admitsToOwnConnection(transfer, origin) { return true }
        let hasWaited = transfer.place.use != .none
        if hasWaited ? admitsAgain(transfer, origin) : admitsNew(transfer, origin) { return true }
        origin.enter(transfer)
        // The longer line may be worth another connection.
        release(origin)
        return false
    }

    private func admitsNew(_ transfer: Transfer, _ origin: SharedOrigin) -> Bool {
        guard origin.waitingCount == 0, let use = wayFor(origin) else { return false }
        if use == .reserved { transfer.place.use = use }
        origin.pass(transfer)
        return true
    }

    /// Returns whether a transfer that has waited may still be passed to libcurl.
    private func admitsAgain(_ transfer: Transfer, _ origin: SharedOrigin) -> Bool {
        // A connection may have been made in the meantime, on which libcurl would send the request at once.
        let isSettling = origin.isSettling(executor.engineLoop.systemNow)
        if transfer.place.use == .reserved, !isSettling, origin.permits.excess == 0 { return true }
        leave(transfer, origin)
        guard !isSettling || origin.settledRoom > origin.released else { return false }
        // All streams may have ended in the meantime. libcurl would then use another connection.
        guard origin.sharing == .shared, origin.connectionCount == 0 else { return true }
        guard reserve(origin) else { return false }
        transfer.place.use = .reserved
        return true
    }

    /// Returns the way in which one more transfer may be passed to libcurl: `released` for a stream, or `reserved` after a place for a
    /// connection was taken; `nil` if the transfer has to wait.
    private func wayFor(_ origin: SharedOrigin) -> Use? {
        if origin.sharing == .exclusive { return .released }
        let now = executor.engineLoop.systemNow
        let isSettling = origin.isSettling(now)
        // libcurl uses its oldest connection with room, and so a new one only if all others are full.
        let room = isSettling ? origin.settledRoom : origin.room
        if room - origin.withheldRoom(now) > origin.released { return .released }
        guard !isSettling else { return nil }
        if isWorthConnecting(origin), reserve(origin) { return .reserved }
        return mayProbe(origin) ? .released : nil
    }

    /// Returns whether one more connection is to be made, if there is a place for it.
    private func isWorthConnecting(_ origin: SharedOrigin) -> Bool {
        // After a failure, the next transfers connect at once instead of one after the other.
        if origin.hasFailed, origin.connectionCount == 0 { return true }
        // A connection that is being made has room for the limit of streams, of which one is taken.
        return origin.waitingCount >= (origin.permits.connecting + origin.permits.reserved) * (origin.limit - 1)
    }

    private func mayProbe(_ origin: SharedOrigin) -> Bool {
        let now = executor.engineLoop.systemNow
        guard origin.connectionCount > 0, origin.permits.owed == 0, origin.limit < SharedOrigin.assumedLimit,
            origin.nextProbe <= now
        else { return false }
        origin.nextProbe = now.advanced(by: Self.probeInterval)
        return true
    }

    /// Lets the transfers pass for which there is room now.
    func release(_ origin: SharedOrigin) {
        noteLimit(origin)
        while origin.waitingCount > 0, let use = wayFor(origin), let transfer = origin.next() {
            transfer.place.use = use
            if let end = origin.limitEnd { transfer.place.waitEnd = end }
            if use == .released { origin.released += 1 }
            if origin.precedingCount > 0 { origin.precedingCount -= 1 }
            resumed.append(transfer)
        }
        setTimer(for: origin)
    }

    // MARK: Places

    /// Takes a place for a connection. Returns `false` if there is none; the origin then gets one later.
    private func reserve(_ origin: SharedOrigin) -> Bool {
        if origin.permits.granted > 0 {
            origin.permits.granted -= 1
        } else {
            guard !origin.permits.awaitsPlace, !hasExcess(origin) else { return false }
            switch budget.begin(origin.limitName, for: places(of: origin)) {
            case .granted: break
            case .waiting:
                origin.permits.awaitsPlace = true
                return false
            case .afterClosing(let holder):
                origin.permits.awaitsPlace = true
                places(of: origin).grantConnection(to: origin.limitName, afterClosingBy: holder)
                return false
            }
        }
        origin.permits.reserved += 1
        return true
    }

    // MARK: Time

    private func setTimer(for origin: SharedOrigin) {
        guard origin.waitingCount > 0,
            origin.limit < SharedOrigin.assumedLimit || origin.permits.owed > 0 || origin.permits.excess > 0
        else { return }
        let now = executor.engineLoop.systemNow
        let isSettling = origin.isSettling(now)
        let interval = origin.permits.excess > 0 ? Self.excessInterval : Self.probeInterval
        let deadline = now.advanced(by: isSettling ? SharedOrigin.settlingTime : interval)
        if let timer, timer.deadline.map({ $0 <= deadline }) ?? false { return }
        let timer = timer ?? EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, onSystemAt: deadline)
    }

    /// Lets transfers pass that wait for a connection to settle, or for a limit that may have been raised.
    func timerIsDue() {
        timer = nil
        for origin in origins.values where origin.waitingCount > 0 { release(origin) }
    }

    // MARK: In libcurl

    /// Returns whether libcurl may make a connection for a transfer. Otherwise the transfer ends with a failure to connect, and then waits
    /// (``wait(_:)``).
    func mayConnect(_ transfer: Transfer) -> Bool {
        guard let origin = origin(transfer) else { return true }
        // libcurl may try several addresses.
        guard transfer.place.use != .connecting else { return true }
        // In a pool that the origin has left, libcurl has seen none of the connections that get streams.
        let isFirst = transfer.attempts == 0 && transfer.scope(in: origin) == origin.scope
        if isFirst, transfer.place.ownConnection != .granted { origin.learnLimit() }
        // libcurl sends the request again, on another connection.
        if transfer.place.use == .streaming { leave(transfer, origin, isRepeated: true) }
        if transfer.place.use == .reserved, origin.permits.excess > 0 { leave(transfer, origin) }
        if origin.sharing == .exclusive, transfer.place.use == .none { return true }
        guard transfer.place.use == .reserved || isWorthConnecting(origin) && reserve(origin) else { return false }
        if origin.connectionCount + origin.permits.connecting > 0 {
            transfer.place.added = AddedConnection(
                number: origin.connectionCount + origin.permits.connecting + 1, streamLimit: origin.limit)
        }
        transfer.place.use = .connecting
        origin.permits.reserved -= 1
        origin.permits.connecting += 1
        release(origin)
        return true
    }

    /// Records the connection on which a request is about to be sent.
    func isConnected(_ transfer: Transfer) {
        guard let origin = origin(transfer) else { return }
        // libcurl may send a request again, on another connection.
        if transfer.place.use == .streaming { leave(transfer, origin, isRepeated: true) }
        let port = transfer.connection.localPort
        if transfer.connection.hadStreams, port > 0 {
            beginStream(transfer, on: port, origin)
        } else {
            // A repetition over HTTP/1 may concern only this request (HTTP_1_1_REQUIRED).
            if transfer.attempts == 1, origin.connectionCount == 0 { origin.sharing = .exclusive }
            origin.hasFailed = false
            leave(transfer, origin)
        }
        release(origin)
    }

    private func beginStream(_ transfer: Transfer, on port: Int32, _ origin: SharedOrigin) {
        origin.sharing = .shared
        origin.hasFailed = false
        let hasPlace = transfer.place.use == .connecting || transfer.place.use == .reserved
        if transfer.place.use == .connecting { origin.permits.connecting -= 1 }
        if transfer.place.use == .reserved { origin.permits.reserved -= 1 }
        let takesPlace = origin.beginStream(
            on: port, isNew: transfer.connection.hasOpenedSocket, scope: transfer.scope(in: origin),
            now: executor.engineLoop.systemNow)
        if takesPlace, !hasPlace, !budget.add(origin.limitName, for: places(of: origin)) { origin.permits.excess += 1 }
        if hasPlace, !takesPlace { endPlace(origin) }
        transfer.place.use = .streaming
        transfer.place.port = port
        unsafe streamCounts[port, default: 0] += 1
    }

    /// Records the first bytes of a response, before which the server's SETTINGS have arrived.
    func isAnswered(_ transfer: Transfer) {
        guard let origin = knownOrigin(transfer), origin.settle(transfer.place.port) else { return }
        release(origin)
    }

    /// Records that the server has refused the stream of a transfer, because of its limit. The transfer leaves the connection.
    func wasRefused(_ transfer: Transfer) {
        guard let origin = knownOrigin(transfer) else { return }
        origin.learnRefusal(on: transfer.place.port)
        leave(transfer, origin, isRepeated: true)
    }

    // MARK: Leaving

    /// Returns whether streams use a connection with one of these local ports.
    func hasStreams(on ports: [Int32]) -> Bool {
        origins.values.contains { origin in ports.contains(where: origin.hasStreams(on:)) }
    }

    /// Records that libcurl uses none of its present connections for further streams.
    func leaveConnections() {
        for origin in origins.values {
            origin.leaveConnections()
            release(origin)
        }
    }

    /// Lets a transfer wait whose connection was refused.
    func wait(_ transfer: Transfer) {
        guard let origin = origin(transfer) else { return }
        origin.enter(transfer)
        // The last stream may have ended in the meantime, so that nothing else would end the wait.
        release(origin)
    }

    /// Removes a transfer that has ended.
    func didEnd(_ transfer: Transfer) {
        guard transfer.place.use != .none, let origin = knownOrigin(transfer) else { return }
        let hadPlace = transfer.place.use == .connecting || transfer.place.use == .reserved
        let hasTried = transfer.options.mayConnect && !transfer.isCancelled
        if hadPlace, transfer.attempts == 0, hasTried, !transfer.repetition.mustStartAgain { origin.hasFailed = true }
        leave(transfer, origin)
        release(origin)
    }

    private func leave(_ transfer: Transfer, _ origin: SharedOrigin, isRepeated: Bool = false) {
        let use = transfer.place.use
        transfer.place.use = .none
        switch use {
        case .none: break
        case .waiting: origin.leave(transfer)
        case .released: origin.released -= 1
        case .reserved:
            origin.permits.reserved -= 1
            endPlace(origin)
        case .connecting:
            origin.permits.connecting -= 1
            endPlace(origin)
        case .streaming:
            // Not inserted in place, because every read would then have to check for exclusive access at run time.
            if isRepeated { leftPorts = leftPorts.union([transfer.place.port]) }
            noteLimit(origin)
            let count = unsafe streamCounts[transfer.place.port] ?? 1
            unsafe streamCounts[transfer.place.port] = count > 1 ? count - 1 : nil
            if origin.endStream(on: transfer.place.port, isRepeated: isRepeated) { endPlace(origin) }
        }
    }

    /// Ends the use of all connections because libcurl ends. Returns the transfers that waited.
    func close() -> [Transfer] {
        var waiting = resumed
        resumed = []
        for origin in origins.values {
            for _ in 0..<origin.placeCount { budget.end(origin.limitName, for: places(of: origin)) }
            if !origin.idlePorts.isEmpty { budget.setIdle(origin.limitName, 0, for: places(of: origin)) }
            while let transfer = origin.next() { waiting.append(transfer) }
        }
        for transfer in waiting { transfer.place.use = .none }
        origins = [:]
        unsafe streamCounts = [:]
        last = nil
        timer = nil
        return waiting
    }
}
