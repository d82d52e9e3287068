import CCurl

/// What an engine watches while it may have connections: its calls into libcurl and OpenSSL, and the addresses of the machine.
final class EngineWatches {
    /// The watch that ends calls that a server keeps busy.
    let calls = CallWatch()
    /// The socket on which the kernel notifies of lost addresses and links; `nil` if connections do not follow the network, or if the
    /// system permits no such socket.
    let addressChanges: RouteSocket?
    /// The links that are lost, as the kernel has told.
    var lostLinks = LostLinks()
    private let loop: EventLoop

    init(_ configuration: EngineConfiguration, _ loop: EventLoop) {
        self.loop = loop
        addressChanges = configuration.followsNetworkChanges ? RouteSocket(.addresses) : nil
        if let addressChanges { _ = loop.watch(addressChanges.descriptor, generation: 0, for: .read) }
        Watchdog.shared.add(calls)
    }

    deinit {
        ignoreAddressChanges()
        Watchdog.shared.remove(calls)
    }

    /// Returns whether a ready socket is the one for notifications.
    func isReady(_ ready: ReadySocket) -> Bool {
        ready.generation == 0 && ready.descriptor == addressChanges?.descriptor
    }

    /// Stops watching for lost addresses and links.
    func ignoreAddressChanges() {
        if let addressChanges { _ = loop.watch(addressChanges.descriptor, generation: 0, for: []) }
    }

    // MARK: Lost addresses

    /// Handles the notifications of changed addresses and links: the connections from local addresses that the machine has lost are
    /// retired, and the ones of links that have lost their carrier or were shut down. The kernel keeps such a connection, but sends nothing
    /// on it, so that a request there would only wait until its time is over.
    ///
    /// No request is ended: the address or the carrier may return before the peer notices, for example if the machine changes from one
    /// access point to another. Connections from other addresses are not touched.
    func addressesDidChange(_ engine: CurlEngine) {
        switch addressChanges?.arrivals() {
        case .messages(let messages):
            let removals = messages.filter { $0.kind == NetlinkMessage.Kind.deletedAddress }
            let lost = Set(removals.compactMap { NetworkState.address(in: $0.payload)?.address })
            if !lost.isEmpty { engine.retireConnections { lost.contains($0) } }
            let links = Set(messages.compactMap { lostLinks.take($0) })
            if !links.isEmpty { retireConnections(of: engine, on: links) }
        case .overrun:
            // The notifications that a link has come back may be among those that were lost.
            lostLinks = LostLinks()
            retireAfterOverrun(engine)
        case .failure, nil: ignoreAddressChanges()
        }
    }

    /// Retires connections after notifications were lost, by comparison with all addresses that the machine has.
    private func retireAfterOverrun(_ engine: CurlEngine) {
        Self.readAddresses(for: engine) { engine, state in
            let addresses = state.carriedAddresses
            // Every address of 127.0.0.0/8 is one of the machine, and a socket that is not connected has the address 0.
            engine.retireConnections { !addresses.contains($0) && !$0.isLoopback && $0.bytes.contains { $0 > 0 } }
        }
    }

    /// Retires the connections from the addresses of links that have lost their carrier, or were shut down.
    private func retireConnections(of engine: CurlEngine, on links: Set<Int32>) {
        Self.readAddresses(for: engine) { engine, state in
            let addresses = state.addresses(on: links)
            if !addresses.isEmpty { engine.retireConnections { addresses.contains($0) } }
        }
    }

    /// Calls `body` on the engine's thread with the links and addresses of the machine, unless there are no connections.
    private static func readAddresses(
        for engine: CurlEngine, _ body: @escaping @Sendable (CurlEngine, NetworkState) -> Void
    ) {
        guard engine.openSocketCount > 0 else { return }
        // The socket belongs to the network of this thread. Reading may wait for other programs, and so another thread reads.
        guard let socket = RouteSocket(.nothing) else { return }
        BlockingThreadPool.begin {
            guard let state = socket.readAddresses() else { return }
            engine.submit { body(engine, state) }
        }
    }
}

extension IPAddress {
    /// Creates the local address of a socket; `nil` if the socket has none.
    init?(localOf descriptor: Int32) {
        var length: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            length = unsafe ccurl_socket_address(descriptor, start)
            count = Int(length)
        }
        self.init(bytes: bytes)
    }
}
