import CurlEngine

/// A connection through a ``FaultProxy``: its two sockets, and the bytes between them. It belongs to the proxy's thread.
final class FaultProxyLink {
    let client: LoopbackSocket
    let server: LoopbackSocket
    /// The record, and whether it has changed since it was published.
    private(set) var record: FaultProxy.Connection
    var isChanged = true

    private var isConnected = false
    private var up = Way()
    private var down = Way()
    /// The toxics that disturb the connection, with the instants when they begin.
    private var toxics: [(toxic: Toxic, since: EngineInstant)] = []
    private var decisions: [Toxic: Bool] = [:]
    private var generator: SeededGenerator

    /// A direction.
    private struct Way {
        var stream = FaultProxyStream()
        /// Whether the receiver takes no bytes now.
        var isBlocked = false
        /// Whether the end was passed on.
        var hasEnded = false

        /// The instant when something is to be sent next, unless the receiver must take earlier bytes first.
        var nextDue: EngineInstant? { isBlocked || hasEnded ? nil : stream.nextDue }
    }

    init(_ ordinal: Int, client: LoopbackSocket, server: LoopbackSocket, seed: UInt64) {
        self.client = client
        self.server = server
        record = FaultProxy.Connection(ordinal: ordinal)
        generator = SeededGenerator(seed: seed &+ UInt64(ordinal) &* 0x9E37_79B9_7F4A_7C15)
    }

    var isOver: Bool { record.end != .none }

    // MARK: Toxics

    /// Begins to follow other toxics. One that stays keeps its beginning, and the decision about this connection.
    func follow(_ planned: [Toxic], now: EngineInstant) {
        var kept = toxics
        toxics = planned.filter(isDisturbed).map { toxic in
            guard let index = kept.firstIndex(where: { $0.toxic == toxic }) else { return (toxic, now) }
            return kept.remove(at: index)
        }
        record.toxics = toxics.map(\.toxic)
        isChanged = true
    }

    private func isDisturbed(by toxic: Toxic) -> Bool {
        if let known = decisions[toxic] { return known }
        let decision = Double.random(in: 0..<1, using: &generator) < toxic.probability
        decisions[toxic] = decision
        return decision
    }

    private func toxics(of direction: Toxic.Direction) -> [Toxic] {
        toxics.map(\.toxic).filter { $0.concerns(direction) }
    }

    /// The instant when a toxic ends the connection, and whether with a reset.
    private var deadline: (instant: EngineInstant, isReset: Bool)? {
        let deadlines = toxics.compactMap { toxic, since -> (instant: EngineInstant, isReset: Bool)? in
            switch toxic.effect {
            case .timeout(let time?): (since.advanced(by: time), false)
            case .reset(let time): (since.advanced(by: time), true)
            default: nil
            }
        }
        return deadlines.min { $0.instant < $1.instant }
    }

    // MARK: Events

    /// The events of the client's and the server's socket that the connection waits for.
    var interests: [SocketInterest] {
        [
            SocketInterest(descriptor: client.descriptor, reads: up.stream.hasRoom, writes: down.isBlocked),
            SocketInterest(
                descriptor: server.descriptor, reads: isConnected && down.stream.hasRoom,
                writes: !isConnected || up.isBlocked),
        ]
    }

    /// Handles the events of both sockets.
    func handle(client clientEvents: SocketInterest, server serverEvents: SocketInterest, now: EngineInstant) {
        guard !isOver else { return }
        if !isConnected, serverEvents.isWritable {
            guard server.pendingError == 0 else { return end(.reset) }
            isConnected = true
        }
        if up.isBlocked, serverEvents.isWritable { up.isBlocked = false }
        if down.isBlocked, clientEvents.isWritable { down.isBlocked = false }
        if clientEvents.reads, clientEvents.isReadable {
            record.receivedUpstream += read(from: client, into: &up.stream, toxics: toxics(of: .upstream), now: now)
        }
        if serverEvents.reads, serverEvents.isReadable {
            record.receivedDownstream += read(
                from: server, into: &down.stream, toxics: toxics(of: .downstream), now: now)
        }
    }

    /// Reads from a socket into a stream; returns the number of bytes.
    private func read(
        from socket: LoopbackSocket, into stream: inout FaultProxyStream, toxics: [Toxic], now: EngineInstant
    ) -> Int {
        do {
            guard let bytes = try socket.receiveNow(upTo: FaultProxyStream.readSize) else { return 0 }
            isChanged = true
            if bytes.isEmpty {
                stream.takeEnd(isReset: false, toxics, now: now)
            } else {
                stream.take(bytes, toxics, now: now, using: &generator)
            }
            return bytes.count
        } catch {
            stream.takeEnd(isReset: true, toxics, now: now)
            return 0
        }
    }

    // MARK: Time

    /// The instant when the connection has something to do; `nil` if it waits for its sockets alone.
    var nextDue: EngineInstant? {
        [deadline?.instant, isConnected ? up.nextDue : nil, down.nextDue].compactMap { $0 }.min()
    }

    /// Does everything that is due.
    func advance(to now: EngineInstant) {
        guard !isOver else { return }
        if let deadline, deadline.instant <= now { return end(deadline.isReset ? .reset : .closed) }
        if isConnected { record.sentUpstream += send(&up, to: server, now) }
        if !isOver { record.sentDownstream += send(&down, to: client, now) }
        if !isOver, up.hasEnded, down.hasEnded { end(.closed) }
    }

    /// Sends the bytes of a direction that are due, and then its end; returns the number of bytes.
    private func send(_ way: inout Way, to socket: LoopbackSocket, _ now: EngineInstant) -> Int {
        var count = 0
        while !way.isBlocked, let bytes = way.stream.next(now: now) {
            guard let sent = try? socket.sendNow(bytes) else {
                end(.reset)
                return count
            }
            way.isBlocked = sent < bytes.count
            way.stream.didSend(sent)
            count += sent
        }
        if count > 0 { isChanged = true }
        guard way.stream.isEmpty, !way.hasEnded else { return count }
        if way.stream.isOverLimit {
            end(.closed)
        } else if let last = way.stream.end, last.due <= now {
            way.hasEnded = true
            if last.isReset { end(.reset) } else { socket.shutdownWrite() }
        }
        return count
    }

    /// Ends the connection. Its sockets are closed when the record was published, so that the record has the end before the client can
    /// know of it.
    func end(_ end: FaultProxy.Connection.End) {
        guard !isOver else { return }
        record.end = end
        isChanged = true
    }

    func closeSockets() {
        for socket in [client, server] {
            if record.end == .reset {
                socket.reset()
            } else {
                socket.shutdownWrite()
                socket.close()
            }
        }
    }
}
