import CCurl

/// The retirement of connections from local addresses that the machine has lost, or whose link has lost its carrier or was shut down. The
/// kernel keeps such a connection, but sends nothing on it, so that a request there would only wait until its time is over.
///
/// No request is ended: the address or the carrier may return before the peer notices, for example if the machine changes from one access
/// point to another. Connections from other addresses are not touched.
extension CurlEngine {
    /// Retires the connections from local addresses that the machine has lost.
    func retireConnections(where isLost: (IPAddress) -> Bool) {
        if let multi { retire(multi, where: isLost) }
    }

    /// Returns whether the engine has shut down the connection with a local port.
    func hasEnded(port: Int32) -> Bool {
        guard let multi, unsafe !multi.sockets.endedPorts.isEmpty else { return false }
        return unsafe multi.sockets.endedPorts.contains(port)
    }

    /// Handles the notifications of changed addresses and links.
    func addressesDidChange(_ multi: MultiHandle) {
        switch multi.addressChanges?.arrivals() {
        case .messages(let messages):
            let removals = messages.filter { $0.kind == NetlinkMessage.Kind.deletedAddress }
            let lost = Set(removals.compactMap { NetworkState.address(in: $0.payload)?.address })
            if !lost.isEmpty { retire(multi) { lost.contains($0) } }
            let links = Set(messages.compactMap { multi.lostLinks.take($0) })
            if !links.isEmpty { retireConnections(on: links) }
        case .overrun:
            // The notifications that a link has come back may be among those that were lost.
            multi.lostLinks = LostLinks()
            retireAfterOverrun()
        case .failure, nil: multi.ignoreAddressChanges()
        }
    }

    /// Retires connections after notifications were lost, by comparison with all addresses that the machine has.
    private func retireAfterOverrun() {
        readAddresses { engine, state in
            let addresses = state.carriedAddresses
            // Every address of 127.0.0.0/8 is one of the machine, and a socket that is not connected has the address 0.
            engine.retireConnections { !addresses.contains($0) && !$0.isLoopback && $0.bytes.contains { $0 > 0 } }
        }
    }

    /// Retires the connections from the addresses of links that have lost their carrier, or were shut down.
    private func retireConnections(on links: Set<Int32>) {
        readAddresses { engine, state in
            let addresses = state.addresses(on: links)
            if !addresses.isEmpty { engine.retireConnections { addresses.contains($0) } }
        }
    }

    /// Calls `body` on the engine's thread with the links and addresses of the machine, unless there are no connections.
    private func readAddresses(_ body: @escaping @Sendable (CurlEngine, NetworkState) -> Void) {
        guard openSocketCount > 0 else { return }
        // The socket belongs to the network of this thread. Reading may wait for other programs, and so another thread reads.
        guard let socket = RouteSocket(.nothing) else { return }
        BlockingThreadPool.begin {
            guard let state = socket.readAddresses() else { return }
            self.submit { body(self, state) }
        }
    }

    func retire(_ multi: MultiHandle, where isLost: (IPAddress) -> Bool) {
        wire.retire(where: isLost)
        let (endedCount, usedPorts) = unsafe multi.sockets.retire(where: isLost) {
            streams.isUsed(port: $1) ?? false
        }
        if endedCount > 0 { multi.makeRoomForClosedConnections() }
        guard streams.hasStreams(on: usedPorts) else { return }
        // libcurl would use the connection for further streams.
        multi.leaveConnections()
        streams.leaveConnections()
    }

    /// Shuts down a retired connection if the request that has ended on it was the last one.
    func endRetired(_ multi: MultiHandle, on socket: Int32) {
        unsafe multi.sockets.endRetired(socket) { streams.isUsed(port: $1) ?? false }
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
