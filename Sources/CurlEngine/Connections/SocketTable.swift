import CCurl
private import Glibc

/// The interest that libcurl has in each socket, and the interest that is registered with the kernel. Changes are collected and applied
/// once per turn; only the last change of a socket counts.
///
/// A socket that becomes idle stays registered, because libcurl mostly soon has an interest again, and two system calls are saved. Data on
/// an idle HTTP/1 connection is either the end of the connection or bytes without a request. libcurl 7.88 treats connections with such
/// bytes and connections that were reset as usable, and 8.23 does not check a connection that was used a moment ago. The table ends all of
/// these connections in such a way that no byte of the next request can be sent, and no such byte can become part of its response.
struct SocketTable {
    /// A connection that could carry streams.
    typealias IdleConnection = (origin: String, port: Int32)

    private(set) var entries: [Entry] = []
    private var origins = OriginNumbers()
    /// The first unused socket of each origin, by the number of the origin; negative if there is none. It was used least recently.
    private var firstUnused: [Int32] = []
    private var unusedByOrigin = DescriptorRings()
    /// The unused socket that was used least recently; negative if there is none.
    private var oldestUnused: Int32 = -1
    private var unusedByAge = DescriptorRings()
    /// The idle connections that could carry streams, and were closed since the last call of ``takeClosed()``.
    private(set) var closed: [IdleConnection] = []
    /// The sockets whose interest changed since the last turn.
    private var dirty: [Int32] = []
    /// The idle sockets on which data was received, and which are to be removed from the kernel's list.
    private var stale: [Int32] = []
    /// The local ports of the connections that the engine has shut down, and that libcurl has not closed yet.
    private(set) var endedPorts: Set<Int32> = []
    /// The number of sockets that are open now.
    private(set) var openCount = 0
    /// The number of these sockets whose connections the engine has ended.
    private var endedCount = 0
    /// The number of connections.
    var connectionCount: Int { openCount - endedCount }

    /// The number of idle HTTP/1 sockets.
    private var idleCount = 0
    /// Whether connections in use were retired.
    var hasRetired = false
    /// The connections that an observer is told of.
    var observed = ObservedConnections()

    subscript(descriptor: Int32) -> Entry {
        get { entries[Int(descriptor)] }
        _modify { yield &entries[Int(descriptor)] }
    }

    private mutating func setIdle(_ descriptor: Int32, _ isIdle: Bool) {
        guard self[descriptor].isIdleHTTP1 != isIdle else { return }
        self[descriptor].isIdleHTTP1 = isIdle
        idleCount += isIdle ? 1 : -1
    }

    // MARK: Origins

    private mutating func setOrigin(_ descriptor: Int32, _ origin: String) {
        forgetOrigin(descriptor)
        let number = origins.use(origin)
        self[descriptor].origin = number
        while firstUnused.count <= Int(number) { firstUnused.append(-1) }
    }

    private mutating func forgetOrigin(_ descriptor: Int32) {
        setUnused(descriptor, false)
        guard self[descriptor].origin >= 0 else { return }
        origins.endUse(self[descriptor].origin)
        self[descriptor].origin = -1
    }

    /// Forgets the origin of a socket, which ends or begins another use of its descriptor.
    private mutating func forget(_ descriptor: Int32) {
        observed.end(descriptor)
        setIdle(descriptor, false)
        if self[descriptor].hasEnded { endedCount -= 1 }
        noteClosed(descriptor)
        if self[descriptor].endedPort > 0 { endedPorts.remove(self[descriptor].endedPort) }
        forgetOrigin(descriptor)
    }

    private mutating func noteEnded(_ descriptor: Int32) {
        guard !self[descriptor].hasEnded, self[descriptor].isOurs else { return }
        self[descriptor].hasEnded = true
        observed.end(descriptor)
        endedCount += 1
        noteClosed(descriptor)
    }

    private mutating func noteClosed(_ descriptor: Int32) {
        guard self[descriptor].idlePort > 0 else { return }
        closed.append((origins.name(of: self[descriptor].origin), self[descriptor].idlePort))
        self[descriptor].idlePort = 0
    }

    /// Returns the idle connections that could carry streams, and were closed since the last call.
    mutating func takeClosed() -> [IdleConnection] {
        defer { closed = [] }
        return closed
    }

    /// Adds a socket at the end of the unused ones, or removes it from them.
    private mutating func setUnused(_ descriptor: Int32, _ isUnused: Bool) {
        guard self[descriptor].isUnused != isUnused else { return }
        self[descriptor].isUnused = isUnused
        observed.set(descriptor, isIdle: isUnused)
        let origin = Int(self[descriptor].origin)
        if isUnused {
            unusedByOrigin.append(descriptor, to: &firstUnused[origin])
            unusedByAge.append(descriptor, to: &oldestUnused)
        } else {
            unusedByOrigin.remove(descriptor, from: &firstUnused[origin])
            unusedByAge.remove(descriptor, from: &oldestUnused)
        }
    }

    /// Returns the unused socket of an origin that meets a condition and was used least recently.
    private func unused(to origin: String, where condition: (Int32) -> Bool) -> Int32? {
        guard let number = origins.number(of: origin), firstUnused[Int(number)] >= 0 else { return nil }
        let first = firstUnused[Int(number)]
        var descriptor = first
        repeat {
            if condition(descriptor) { return descriptor }
            descriptor = unusedByOrigin.next(after: descriptor)
        } while descriptor != first
        return nil
    }

    // MARK: Changes

    private mutating func makeRoom(for descriptor: Int32) {
        while entries.count <= Int(descriptor) { entries.append(Entry()) }
        unusedByOrigin.makeRoom(for: descriptor)
        unusedByAge.makeRoom(for: descriptor)
    }

    /// Adds a socket.
    ///
    /// - Parameter user: The easy handle that the socket was opened for.
    mutating func didOpen(_ descriptor: Int32, for user: ObjectIdentifier) {
        makeRoom(for: descriptor)
        forget(descriptor)
        let generation = self[descriptor].generation &+ 1
        self[descriptor] = Entry(generation: generation, isOurs: true, isDirty: self[descriptor].isDirty)
        observed.didOpen(descriptor, for: user)
        openCount += 1
    }

    /// Removes a socket that is about to be closed. The kernel itself forgets closed sockets.
    mutating func willClose(_ descriptor: Int32) {
        guard descriptor >= 0, Int(descriptor) < entries.count else { return }
        if self[descriptor].isOurs { openCount -= 1 }
        forget(descriptor)
        self[descriptor] = Entry(generation: self[descriptor].generation &+ 1, isDirty: self[descriptor].isDirty)
    }

    mutating func want(_ descriptor: Int32, _ interest: SocketInterest, for user: ObjectIdentifier?) {
        guard descriptor >= 0 else { return }
        makeRoom(for: descriptor)
        self[descriptor].wanted = interest
        if !interest.isEmpty {
            setIdle(descriptor, false)
            setUnused(descriptor, false)
            self[descriptor].user = user
        }
        guard !self[descriptor].isDirty else { return }
        self[descriptor].isDirty = true
        dirty.append(descriptor)
    }

    /// Records the last user of a socket in which libcurl has had no interest for that user, unless libcurl has one for another user.
    mutating func didUse(_ descriptor: Int32, by user: ObjectIdentifier) {
        guard descriptor >= 0, Int(descriptor) < entries.count, self[descriptor].isOurs,
            self[descriptor].wanted.isEmpty
        else { return }
        self[descriptor].user = user
        // The kernel may not watch the socket yet.
        want(descriptor, [], for: nil)
    }

    /// Records the end of a transfer. Marks the socket as idle after an HTTP/1 response, unless the next transfer already uses it.
    ///
    /// - Parameters:
    ///   - isExclusive: Whether the connection carries one request at a time.
    ///   - streamPort: The local port of the connection if it can carry streams, of which this was the last one; otherwise 0.
    /// - Returns: Whether the socket is open.
    @discardableResult
    mutating func didEndTransfer(
        on descriptor: Int32, generation: UInt32, after user: ObjectIdentifier, to origin: String, isHTTP1: Bool,
        isExclusive: Bool, streamPort: Int32, now: EngineInstant
    ) -> Bool {
        guard descriptor >= 0, Int(descriptor) < entries.count, self[descriptor].generation == generation,
            !self[descriptor].hasEnded, !isExclusive || self[descriptor].user == user
        else { return false }
        if !origins.isNumber(self[descriptor].origin, of: origin) { setOrigin(descriptor, origin) }
        // The socket may be listed since the end of another stream.
        setUnused(descriptor, false)
        setUnused(descriptor, true)
        self[descriptor].lastUse = now
        self[descriptor].idlePort = max(streamPort, 0)
        if isHTTP1 { setIdle(descriptor, true) }
        return true
    }

    /// Returns whether libcurl has a connection to an origin that no request uses. Streams that are all paused look the same as none.
    func hasUnused(to origin: String) -> Bool {
        unused(to: origin) { self[$0].isIdleHTTP1 || self[$0].wanted.isEmpty } != nil
    }

    /// Returns whether a connection to any origin is idle; `isUsed` is as in ``closeIdle(to:except:isUsed:)``.
    func hasIdle(isUsed: (_ origin: String, _ port: Int32) -> Bool) -> Bool {
        entries.indices.contains { entries[$0].isUnused && isIdle(Int32($0), isUsed) }
    }

    /// Shuts down one idle connection to an origin, or all idle ones if `origin` is `nil`. libcurl then finds them dead. An origin is the
    /// name of a pool of connections, or the one by which those of several addresses are counted.
    ///
    /// - Parameters:
    ///   - pool: The name of a pool of one of several addresses, of which no connection is shut down.
    ///   - isUsed: Returns whether streams use the connection to an origin with a local port: streams that are all paused look the same as
    ///     none.
    mutating func closeIdle(
        to origin: String?, except pool: String? = nil, isUsed: (_ origin: String, _ port: Int32) -> Bool
    ) {
        guard let origin else {
            for descriptor in entries.indices { endIfIdle(Int32(descriptor), isUsed) }
            return
        }
        if let found = unused(to: origin, where: { isIdle($0, isUsed) }) { return end(found) }
        let prefix = TransferRoute.poolPrefix(ofAddressesIn: origin)
        let found = oldestIdle(isUsed) { descriptor in
            let name = origins.name(of: self[descriptor].origin)
            return name.hasBytePrefix(prefix) && name != pool
        }
        if let found { end(found) }
    }

    /// Shuts down the idle connections that were not used after an instant.
    ///
    /// - Returns: The instant at which the next idle connection was last used, if any.
    mutating func closeIdle(
        usedUntil limit: EngineInstant, isUsed: (_ origin: String, _ port: Int32) -> Bool
    ) -> EngineInstant? {
        while let descriptor = oldestIdle(isUsed) {
            guard self[descriptor].lastUse <= limit else { return self[descriptor].lastUse }
            end(descriptor)
        }
        return nil
    }

    /// Shuts down the idle connection that was used least recently, if there is one.
    mutating func closeOldestIdle(isUsed: (_ origin: String, _ port: Int32) -> Bool) {
        if let descriptor = oldestIdle(isUsed) { end(descriptor) }
    }

    private func oldestIdle(
        _ isUsed: (String, Int32) -> Bool, where condition: (Int32) -> Bool = { _ in true }
    ) -> Int32? {
        guard oldestUnused >= 0 else { return nil }
        var descriptor = oldestUnused
        repeat {
            if condition(descriptor), isIdle(descriptor, isUsed) { return descriptor }
            descriptor = unusedByAge.next(after: descriptor)
        } while descriptor != oldestUnused
        return nil
    }

    // MARK: Lost addresses

    /// Retires the connections from local addresses that the machine has lost: shuts down those that no request uses, and marks the others,
    /// which ``endRetired(_:isUsed:)`` shuts down.
    ///
    /// - Parameter isUsed: Returns whether streams use the connection to an origin with a local port.
    /// - Returns: The number of connections that were shut down, and the local ports of those in use.
    mutating func retire(
        where isLost: (IPAddress) -> Bool, isUsed: (_ origin: String, _ port: Int32) -> Bool
    ) -> (endedCount: Int, usedPorts: [Int32]) {
        var (endedCount, usedPorts) = (0, [Int32]())
        for descriptor in entries.indices.map(Int32.init) where self[descriptor].isOurs {
            guard let address = IPAddress(localOf: descriptor), isLost(address) else { continue }
            self[descriptor].isRetired = true
            if endRetired(descriptor, isUsed: isUsed) {
                endedCount += 1
            } else {
                usedPorts.append(ccurl_socket_port(descriptor))
            }
        }
        if !usedPorts.isEmpty { hasRetired = true }
        return (endedCount, usedPorts)
    }

    /// Shuts down a retired connection if no request uses it. Returns whether the connection was shut down.
    @discardableResult
    mutating func endRetired(_ descriptor: Int32, isUsed: (_ origin: String, _ port: Int32) -> Bool) -> Bool {
        guard descriptor >= 0, Int(descriptor) < entries.count, self[descriptor].isRetired else { return false }
        return endIfIdle(descriptor, isUsed)
    }

    @discardableResult
    private mutating func endIfIdle(_ descriptor: Int32, _ isUsed: (String, Int32) -> Bool) -> Bool {
        guard self[descriptor].isUnused, isIdle(descriptor, isUsed) else { return false }
        end(descriptor)
        return true
    }

    private func isIdle(_ descriptor: Int32, _ isUsed: (String, Int32) -> Bool) -> Bool {
        let entry = self[descriptor]
        return entry.isIdleHTTP1
            || entry.isOurs && !isUsed(origins.name(of: entry.origin), ccurl_socket_port(descriptor))
    }

    private mutating func end(_ descriptor: Int32) {
        // The connection is closed once only.
        noteEnded(descriptor)
        setUnused(descriptor, false)
        let port = ccurl_socket_port(descriptor)
        if port > 0, endedPorts.insert(port).inserted { self[descriptor].endedPort = port }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Shuts down a connection that libcurl keeps although no request may reuse it. libcurl then finds the connection dead.
    mutating func cut(_ descriptor: Int32, generation: UInt32) {
        guard descriptor >= 0, Int(descriptor) < entries.count, self[descriptor].isOurs,
            self[descriptor].generation == generation
        else { return }
        noteEnded(descriptor)
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Returns whether a connection is open after its transfer; `nil` if its socket is not known.
    func isKept(_ descriptor: Int32, generation: UInt32) -> Bool? {
        guard descriptor >= 0, Int(descriptor) < entries.count else { return nil }
        let entry = self[descriptor]
        // Without a transfer, libcurl has an interest in a socket while it ends the TLS session.
        return entry.generation == generation && !entry.hasEnded && (entry.wanted.isEmpty || entry.user != nil)
    }

    /// Returns the number that distinguishes one use of a descriptor from the next one.
    func generation(of descriptor: Int32) -> UInt32 {
        descriptor >= 0 && Int(descriptor) < entries.count ? entries[Int(descriptor)].generation : 0
    }

    /// Passes the changes since the last turn to the kernel.
    mutating func apply(to poller: Poller) {
        forgetStale(poller)
        guard !dirty.isEmpty else { return }
        for descriptor in dirty {
            self[descriptor].isDirty = false
            let entry = self[descriptor]
            let isKept = entry.wanted.isEmpty && entry.isOurs && entry.registered == .read
            // A response may have arrived before the socket was registered with the kernel; data after that response must be detected.
            let interest: SocketInterest = entry.wanted.isEmpty && entry.isIdleHTTP1 ? .read : entry.wanted
            guard interest != entry.registered, !isKept else { continue }
            // A socket that the kernel refuses stays unwatched; the timeouts of the request end the wait.
            let isDone = poller.watch(descriptor, generation: entry.generation, for: interest)
            self[descriptor].registered = isDone ? interest : []
        }
        dirty.removeAll(keepingCapacity: true)
    }

    /// Returns whether libcurl must be notified of a ready socket. An idle socket that is unclean (with received bytes, a failure or an
    /// end) is ended.
    mutating func isWanted(_ ready: ReadySocket) -> Bool {
        let descriptor = ready.descriptor
        guard Int(descriptor) < entries.count, self[descriptor].generation == ready.generation else { return false }
        guard self[descriptor].wanted.isEmpty else { return true }
        if self[descriptor].isIdleHTTP1, ccurl_socket_end_if_unclean(descriptor) {
            // The kernel has forgotten the old socket, and no data arrives on its replacement.
            setIdle(descriptor, false)
            noteEnded(descriptor)
            setUnused(descriptor, false)
            self[descriptor].registered = []
            return false
        }
        // The kernel reports an idle socket repeatedly (level-triggered), so the socket must be removed from the kernel's list.
        stale.append(descriptor)
        return false
    }

    /// Ends every idle socket that is unclean now, so that libcurl takes only clean connections from its pool.
    ///
    /// - Parameter othersCount: The number of sockets that the poller watches besides these.
    mutating func endUnclean(with poller: Poller, besides othersCount: Int = 0) {
        // The kernel reports every ready socket, of which there are thousands while thousands of requests are in flight.
        guard idleCount > 0 else { return }
        apply(to: poller)
        poller.lookAtAll(of: openCount + othersCount) { ready in
            // The other sockets are handled in their turn.
            _ = isWanted(ready)
        }
    }

    /// Removes idle sockets on which data was received from the kernel's list.
    private mutating func forgetStale(_ poller: Poller) {
        for descriptor in stale where self[descriptor].wanted.isEmpty && !self[descriptor].registered.isEmpty {
            _ = poller.watch(descriptor, generation: self[descriptor].generation, for: [])
            self[descriptor].registered = []
        }
        stale.removeAll(keepingCapacity: true)
    }
}
