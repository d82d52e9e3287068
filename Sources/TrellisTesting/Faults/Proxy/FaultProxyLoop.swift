import CurlEngine

/// The loop of a ``FaultProxy``, on its thread.
struct FaultProxyLoop {
    private let listener: LoopbackSocket
    private let serverName: SocketName
    private let control: FaultProxyControl
    private let seed: UInt64
    private let maximumConnections: Int
    private var links: [FaultProxyLink] = []
    private var accepted = 0
    private var toxics: FaultProxyControl.Toxics

    init(
        _ listener: LoopbackSocket, to serverName: SocketName, _ control: FaultProxyControl, seed: UInt64,
        maximumConnections: Int
    ) {
        self.listener = listener
        self.serverName = serverName
        self.control = control
        self.seed = seed
        self.maximumConnections = max(1, maximumConnections)
        toxics = control.toxics
    }

    mutating func run() {
        while !control.isStopped {
            let now = control.clock.now()
            for link in links { link.advance(to: now) }
            publish()
            wait(from: now)
        }
        for link in links { link.end(.reset) }
        publish()
        listener.close()
    }

    /// Waits until a socket or the clock has something to do, and handles the sockets.
    private mutating func wait(from now: EngineInstant) {
        var interests = [
            SocketInterest(descriptor: control.wake.descriptor, reads: true),
            SocketInterest(descriptor: listener.descriptor, reads: links.count < maximumConnections),
        ]
        for link in links { interests += link.interests }
        let due = links.compactMap(\.nextDue).min()
        SocketInterest.wait(
            for: &interests, nanoseconds: due.flatMap { control.clock.sleep(until: $0, from: now) })
        control.wake.clear()
        // The toxics are read after the wait, so that they apply to all bytes that were sent after their change.
        let now = control.clock.now()
        followToxics(now)
        for (index, link) in links.enumerated() {
            link.handle(client: interests[2 + 2 * index], server: interests[3 + 2 * index], now: now)
        }
        if interests[1].isReadable { accept(now) }
    }

    private mutating func followToxics(_ now: EngineInstant) {
        let latest = control.toxics
        guard latest.version != toxics.version else { return }
        toxics = latest
        for link in links { link.follow(latest.value, now: now) }
    }

    private mutating func accept(_ now: EngineInstant) {
        while links.count < maximumConnections, let client = listener.acceptNow() {
            accepted += 1
            guard let server = try? LoopbackSocket.connecting(to: serverName) else {
                var record = FaultProxy.Connection(ordinal: accepted)
                record.end = .reset
                client.reset()
                control.record.update { $0.append(record) }
                continue
            }
            let link = FaultProxyLink(accepted, client: client, server: server, seed: seed)
            link.follow(toxics.value, now: now)
            control.record.update { $0.append(link.record) }
            links.append(link)
        }
    }

    /// Publishes the records that have changed, and removes the connections that have ended.
    private mutating func publish() {
        let changed = links.filter(\.isChanged).map(\.record)
        guard !changed.isEmpty else { return }
        control.record.update { records in for record in changed { records[record.ordinal - 1] = record } }
        for link in links {
            link.isChanged = false
            if link.isOver { link.closeSockets() }
        }
        links.removeAll(where: \.isOver)
    }
}
