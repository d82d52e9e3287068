// Needed by libcurl of every version so far.
import CCurl

/// The connections with streams whose peers are silent: a request on such a connection has reached a limit of its time, in which the
/// connection has brought no byte. The connection gets no further request, and is shut down as soon as no stream uses it.
///
/// libcurl cannot leave out one connection. But the number of `CURLOPT_ADDRESS_SCOPE` is part of the name of its pool, and the system uses
/// that number for no address but the local ones of a link (RFC 4007, section 6). No proxy and no server sees it. With another number,
/// further requests find none of the present connections to their origin.
extension Transfer {
    /// Records that a limit of the time of the transfer is reached, before the transfer is cancelled because of that.
    ///
    /// - Parameter isIdle: Whether the limit counts from the last bytes of the transfer, and not from its request.
    package func didTimeOut(isIdle: Bool) {
        if let http2 = wire.http2 { return http2.didTimeOut(since: isIdle ? times.last : start) }
        guard connection.hadStreams, attempts > 0, let easy, LibcurlFeatures.current.canMultiplex else { return }
        engine.retireIfSilent(self, socket: engine.socket(of: easy), since: isIdle ? times.last : start)
    }
}

extension Transfer {
    /// Returns the number in the name of the pool that libcurl searches for the transfer. The origin may have another one by now.
    func scope(in origin: SharedOrigin) -> Int { easy?.scope ?? origin.scope }

    /// Examines an address to which a connection is about to be made. libcurl replaces the zone of an address of a link by the number of
    /// its pool. The connection then fails, but the connections of further requests must not.
    func examine(_ address: UnsafeMutablePointer<curl_sockaddr>) {
        guard let easy, easy.scope != 0 else { return }
        var bytes = [UInt8](repeating: 0, count: 16), port: UInt16 = 0
        let count = unsafe ccurl_address_read(address, &bytes, &port)
        guard IPAddress(bytes: Array(bytes.prefix(count)))?.isOfLink == true else { return }
        engine.streams.returnToFirstPool(of: self)
    }
}

extension CurlEngine {
    fileprivate func retireIfSilent(_ transfer: Transfer, socket: ObservedSocket, since instant: EngineInstant) {
        guard let multi, unsafe multi.sockets.retireIfSilent(socket, since: instant) else { return }
        multi.makeRoomForClosedConnections()
        // libcurl also looks for the number among the addresses of an interface.
        guard transfer.options.route.parts.interface == nil,
            let address = IPAddress(transfer.measurements.peerAddress), !address.isOfLink
        else { return }
        streams.leaveConnection(of: transfer)
    }
}

extension StreamGate {
    /// Lets further streams use no connection of libcurl's pool in which a transfer has its connection.
    fileprivate func leaveConnection(of transfer: Transfer) {
        // Otherwise the connection is shut down with this stream.
        guard streamCount(port: transfer.place.port) > 1, let origin = knownOrigin(transfer),
            origin.leave(transfer.place.port, scope: scopeCount + 1)
        else { return }
        scopeCount += 1
        release(origin)
    }

    /// Lets further streams use the pool without a number again.
    fileprivate func returnToFirstPool(of transfer: Transfer) {
        guard let origin = knownOrigin(transfer) else { return }
        origin.returnToFirstPool()
        release(origin)
    }

    /// Returns the number in the name of libcurl's pool of connections for a transfer.
    func scope(of transfer: Transfer) -> Int {
        scopeCount == 0 || !transfer.options.mayBeHTTP2 ? 0 : knownOrigin(transfer)?.scope ?? 0
    }
}

extension SocketTable {
    /// Records that bytes may have come on a socket that libcurl has an interest in.
    mutating func noteRead(_ ready: ReadySocket, at instant: EngineInstant) {
        if ready.interest.contains(.read) { self[ready.descriptor].lastRead = instant }
    }

    /// Retires a connection that has brought no byte after an instant. Returns whether it has brought none.
    fileprivate mutating func retireIfSilent(_ socket: CurlEngine.ObservedSocket, since instant: EngineInstant) -> Bool
    {
        guard entries.indices.contains(Int(socket.descriptor)), generation(of: socket.descriptor) == socket.generation,
            self[socket.descriptor].isOurs, self[socket.descriptor].lastRead <= instant
        else { return false }
        self[socket.descriptor].isRetired = true
        hasRetired = true
        return true
    }
}

extension IPAddress {
    /// Whether the address is valid on one link only (RFC 4291, section 2.5.6).
    fileprivate var isOfLink: Bool { isIPv6 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }
}
