import CCurl
import FoundationEssentials
private import Glibc

/// The sockets of an engine's connections over TCP, and of those that are being made, with the idle connections among them.
@safe
final class WireTable {
    /// The use of a socket.
    enum Use {
        case connection(WireConnection)
        case http2(HTTP2Connection)
        case handshake(WireTLS)
        case attempt(WireRace)
    }

    private struct Entry {
        var generation: UInt32 = 0
        var use: Use?
    }

    // Exclusivity is unchecked: one thread uses these values, and no access to one of them calls code that uses it.
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var pools: [String: WirePool] = [:]
    /// The pool of the last transfer.
    @exclusivity(unchecked) private var lastPool: WirePool?
    @exclusivity(unchecked) private var idleInPool = DescriptorRings()
    @exclusivity(unchecked) private var idleByAge = DescriptorRings()
    /// The idle connection that was used least recently; negative if there is none.
    @exclusivity(unchecked) private var oldestIdle: Int32 = -1
    private(set) var openCount = 0
    private(set) var idleCount = 0
    // Exclusivity is unchecked, as above.
    /// The numbers of connections.
    @exclusivity(unchecked) var counts = ConnectionCounts()
    /// The transfers that wait without a socket: for the lookup of a name, or for a server with a full queue of connections.
    var waiting: Set<Transfer> = []
    /// The bytes of a request that is being written.
    @exclusivity(unchecked) var request: [UInt8] = []
    @exclusivity(unchecked) var encoder: HTTP1RequestEncoder
    /// The block of the ``BlockPool`` that is ``buffer``.
    private var block: UnsafeMutableRawPointer?
    /// The connections over HTTP/2.
    @exclusivity(unchecked) var http2: HTTP2Pools
    /// The connections for which libcurl makes handshakes.
    var groups: [TLSGroup] = []

    /// libcurl's sockets for HTTP/3, which have the same descriptors at other times, have smaller generations.
    private static let firstGeneration: UInt32 = 1 << 31

    init(_ configuration: EngineConfiguration) {
        unsafe http2 = HTTP2Pools(maximum: configuration.sharedConnections)
        unsafe encoder = HTTP1RequestEncoder(defaults: configuration.defaultHeaderLines)
        unsafe block = nil
    }

    deinit { closeAll() }

    /// The memory in which bytes are received, and from which bodies are sent; `nil` if memory has run out.
    var buffer: UnsafeMutableRawBufferPointer? {
        if unsafe block == nil { unsafe block = BlockPool.take() }
        return unsafe block.map { unsafe UnsafeMutableRawBufferPointer(start: $0, count: BlockPool.blockSize) }
    }

    /// Returns bytes of ``buffer`` without a copy, if it has memory. From now on, another block is the buffer.
    func takeBuffer(_ range: Range<Int>) -> Data? {
        defer { unsafe block = nil }
        return unsafe block.map { unsafe BlockPool.data(of: $0, range) }
    }

    /// Whether transfers have connections, or are on their way to one.
    var hasTransfers: Bool { openCount > idleCount || !waiting.isEmpty }

    /// Forgets the fields of earlier requests.
    func forgetFields() {
        unsafe encoder.forgetFields()
        unsafe http2.forgetFields()
        unsafe request = []
    }

    // MARK: Sockets

    /// Handles a ready socket. Returns `false` if the socket is not one of these.
    func isReady(_ ready: ReadySocket) -> Bool {
        guard openCount > 0, let use = use(of: ready) else { return false }
        switch use {
        case .attempt(let race): race.isReady(ready.descriptor)
        case .handshake(let tls): tls.isReady(ready)
        case .connection(let connection): connection.isReady(ready, in: self)
        case .http2(let connection): connection.isReady(ready)
        }
        return true
    }

    /// Returns the use of a ready socket; `nil` if the socket is not, or no longer, one of these.
    private func use(of ready: ReadySocket) -> Use? {
        let index = Int(ready.descriptor)
        guard unsafe index < entries.count, unsafe entries[index].generation == ready.generation else { return nil }
        return unsafe entries[index].use
    }

    /// Adds a socket. Returns its generation.
    func add(_ socket: Int32, _ use: Use) -> UInt32 {
        let index = Int(socket)
        while unsafe entries.count <= index { unsafe entries.append(Entry(generation: Self.firstGeneration)) }
        unsafe idleInPool.makeRoom(for: socket)
        unsafe idleByAge.makeRoom(for: socket)
        unsafe entries[index].generation = (entries[index].generation &+ 1) | Self.firstGeneration
        unsafe entries[index].use = use
        openCount += 1
        return unsafe entries[index].generation
    }

    /// Changes the use of an attempt's socket.
    func setUse(_ socket: Int32, _ use: Use) { unsafe entries[Int(socket)].use = use }

    /// Returns the use of a socket; `nil` if the socket is not one of these.
    func use(of socket: Int32) -> Use? {
        socket >= 0 && Int(socket) < (unsafe entries.count) ? unsafe entries[Int(socket)].use : nil
    }

    /// Adds the connection that an attempt has made.
    func promote(_ connection: WireConnection) {
        unsafe entries[Int(connection.socket)].use = .connection(connection)
        connection.pool.count += 1
    }

    /// Adds the HTTP/2 connection that an attempt has made.
    func promote(_ connection: HTTP2Connection) { unsafe entries[Int(connection.socket)].use = .http2(connection) }

    /// Returns the generation of a socket.
    func generation(of socket: Int32) -> UInt32 { unsafe entries[Int(socket)].generation }

    /// Closes the socket of an attempt.
    func closeAttempt(_ socket: Int32) {
        unsafe entries[Int(socket)].use = nil
        openCount -= 1
        _ = Glibc.close(socket)
    }

    /// Closes a connection.
    func close(_ connection: WireConnection) {
        guard case .connection(let present)? = unsafe entries[Int(connection.socket)].use, present === connection
        else { return }
        if connection.transfer == nil { removeIdle(connection) }
        unsafe entries[Int(connection.socket)].use = nil
        openCount -= 1
        unsafe counts.change(connection.queue, by: -1)
        connection.pool.count -= 1
        if connection.pool.count == 0 { forget(connection.pool) }
        connection.observation?.end()
        // A writer may be sending on the socket.
        connection.transfer?.connection.switched?.forgetSocket()
        connection.link.tls?.close()
        connection.closeSocket()
    }

    /// Closes an HTTP/2 connection, which has no streams any more.
    func close(_ connection: HTTP2Connection) {
        guard case .http2(let present)? = unsafe entries[Int(connection.socket)].use, present === connection else {
            return
        }
        setIdle(connection, false)
        unsafe entries[Int(connection.socket)].use = nil
        openCount -= 1
        unsafe counts.change(connection.queue, by: -1)
        connection.closeSocket()
    }

    /// Closes an idle connection.
    private func close(idle connection: EngineConnection) {
        switch unsafe entries[Int(connection.socket)].use {
        case .connection(let connection)?: close(connection)
        case .http2(let connection)?: connection.end(in: self)
        case .attempt?, .handshake?, nil: break
        }
    }

    /// Closes all sockets.
    func closeAll() {
        for entry in unsafe entries {
            switch entry.use {
            case .connection(let connection)?:
                connection.transfer?.connection.switched?.forgetSocket()
                connection.transfer?.abandon()
                connection.transfer = nil
                connection.observation?.end()
                connection.link.tls?.close()
                connection.closeSocket()
            case .http2(let connection)?: connection.abandon()
            case .handshake(let tls)?:
                tls.transfer?.abandon()
                tls.close()
                _ = Glibc.close(tls.socket)
            case .attempt(let race)?: race.abandon()
            case nil: continue
            }
        }
        for transfer in unsafe Array(waiting) + http2.removeAll() { transfer.abandon() }
        waiting = []
        groups = []
        unsafe entries = []
        unsafe pools = [:]
        unsafe lastPool = nil
        unsafe (idleInPool, idleByAge, oldestIdle) = (DescriptorRings(), DescriptorRings(), -1)
        (openCount, idleCount) = (0, 0)
        unsafe counts = ConnectionCounts()
        if let block = unsafe block { unsafe BlockPool.giveBack(block) }
        unsafe block = nil
    }

    // MARK: Pools

    /// Returns the pool with a name; `nil` if it has no connection.
    func knownPool(_ name: String) -> WirePool? {
        if let pool = unsafe lastPool, pool.name == name { return pool }
        guard let pool = unsafe pools[name] else { return nil }
        unsafe lastPool = pool
        return pool
    }

    /// Returns the pool with a name, for a connection that is added.
    func pool(_ name: String) -> WirePool {
        if let pool = knownPool(name) { return pool }
        let pool = WirePool(name)
        unsafe pools[name] = pool
        return pool
    }

    private func forget(_ pool: WirePool) {
        unsafe pools[pool.name] = nil
        if unsafe lastPool === pool { unsafe lastPool = nil }
    }

    /// Whether a connection of a pool is idle.
    func hasIdle(_ name: String) -> Bool { unsafe pools[name].map { unsafe $0.firstIdle >= 0 } ?? false }

    /// Removes and returns the idle connection of a pool that was used most recently; `nil` if there is none.
    func takeIdle(_ pool: WirePool) -> WireConnection? {
        guard unsafe pool.firstIdle >= 0 else { return nil }
        let connection = unsafe connection(idleInPool.previous(before: pool.firstIdle))
        if let connection { removeIdle(connection) }
        return connection
    }

    /// Adds a connection without a transfer to the idle ones.
    func addIdle(_ connection: WireConnection) {
        unsafe idleInPool.append(connection.socket, to: &connection.pool.firstIdle)
        unsafe idleByAge.append(connection.socket, to: &oldestIdle)
        idleCount += 1
        connection.observation?.change(isIdle: true)
    }

    /// Adds an HTTP/2 connection to the idle ones, or removes it.
    func setIdle(_ connection: HTTP2Connection, _ isIdle: Bool) {
        guard connection.isListedAsIdle != isIdle else { return }
        connection.isListedAsIdle = isIdle
        if isIdle {
            unsafe idleByAge.append(connection.socket, to: &oldestIdle)
        } else {
            unsafe idleByAge.remove(connection.socket, from: &oldestIdle)
        }
        idleCount += isIdle ? 1 : -1
        connection.observation?.change(isIdle: isIdle)
    }

    private func removeIdle(_ connection: WireConnection) {
        unsafe idleInPool.remove(connection.socket, from: &connection.pool.firstIdle)
        unsafe idleByAge.remove(connection.socket, from: &oldestIdle)
        idleCount -= 1
    }

    private func connection(_ socket: Int32) -> WireConnection? {
        guard case .connection(let connection)? = unsafe entries[Int(socket)].use else { return nil }
        return connection
    }

    /// The idle connection that was used least recently, if any.
    private var oldest: EngineConnection? {
        guard unsafe oldestIdle >= 0 else { return nil }
        switch unsafe entries[Int(oldestIdle)].use {
        case .connection(let connection)?: return connection
        case .http2(let connection)?: return connection
        case .attempt?, .handshake?, nil: return nil
        }
    }

    /// Closes the idle connection that was used least recently. Returns `false` if there is none.
    @discardableResult
    func closeOldestIdle() -> Bool {
        guard let oldest else { return false }
        close(idle: oldest)
        return true
    }

    /// Closes one idle connection of a queue. Returns `false` if there is none.
    func closeIdle(to queue: String, except pool: String? = nil) -> Bool {
        if let found = poolWithIdle(queue, except: pool), let connection = unsafe connection(found.firstIdle) {
            close(connection)
            return true
        }
        let prefix = TransferRoute.poolPrefix(ofAddressesIn: queue)
        let shared = unsafe http2.first { other in
            other.idleConnection != nil && other.name != pool
                && (other.name == queue || other.name.hasBytePrefix(prefix))
        }
        guard let connection = shared?.idleConnection else { return false }
        connection.end(in: self)
        return true
    }

    /// Returns a pool that has an idle connection: the queue's, the proxy's, or one of a single address of the server.
    private func poolWithIdle(_ queue: String, except pool: String?) -> WirePool? {
        if queue != pool, let found = unsafe pools[queue], unsafe found.firstIdle >= 0 { return found }
        guard let route = queue.firstIndex(ofByte: "|") else { return nil }
        if let found = unsafe pools[String(queue[route...])], unsafe found.firstIdle >= 0 { return found }
        let prefix = TransferRoute.poolPrefix(ofAddressesIn: queue)
        return unsafe pools.values.first { other in
            unsafe other.firstIdle >= 0 && other.name != pool && other.name.hasBytePrefix(prefix)
        }
    }

    /// Closes all idle connections.
    func closeAllIdle() { while closeOldestIdle() {} }

    /// Closes the idle connections that were not used after an instant. Returns the instant at which the next idle one was last used.
    func closeIdle(usedUntil limit: EngineInstant) -> EngineInstant? {
        while let oldest {
            guard oldest.lastUse <= limit else { return oldest.lastUse }
            close(idle: oldest)
        }
        return nil
    }

    // MARK: Retired connections

    /// Closes some of the connections: the idle ones at once, and the others after their request.
    func retire(where isRetired: (EngineConnection) -> Bool) {
        for entry in unsafe entries {
            switch entry.use {
            case .connection(let connection)? where isRetired(connection):
                if connection.transfer == nil { close(connection) } else { connection.isRetired = true }
            case .http2(let connection)? where isRetired(connection):
                connection.isRetired = true
                connection.leave(in: self)
            case .connection?, .http2?, .attempt?, .handshake?, nil: continue
            }
        }
    }
}
