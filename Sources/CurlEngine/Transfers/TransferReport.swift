import CCurl

/// The measurements of one transfer by libcurl.
package struct TransferReport: Hashable, Sendable {
    /// The time from the start of the transfer to the resolved name, in microseconds. This time, `connect` and `tls` are zero if the
    /// transfer did not reach that step or used an existing connection.
    package var nameLookup: Int64 = 0
    /// The time from the start of the transfer to the established connection, in microseconds.
    package var connect: Int64 = 0
    /// The time from the start of the transfer to the end of the TLS handshake, in microseconds.
    package var tls: Int64 = 0
    /// The time from the start of the transfer to the first byte of the response, in microseconds; zero if none arrived.
    package var firstByte: Int64 = 0
    /// The size of the request's head and body as sent, in bytes.
    package var bytesSent: Int64 = 0
    /// The size of the response's heads and body on the wire, in bytes.
    package var bytesReceived: Int64 = 0
    /// Whether the transfer used an existing connection.
    package var isReusedConnection = false
    /// The IP address of the peer; empty if there is no connection.
    package var peerAddress = ""
    /// The port of the peer; 0 if there is no connection.
    package var peerPort = 0
    /// Whether the connection was kept after the transfer; `nil` if that is not known, or if the connection is not observed.
    package var isConnectionKept: Bool?
    /// What the TLS handshake of the connection has agreed on with the server, if known.
    package var tlsResult: Boxed<TLSResult>?
}

extension TransferReport {
    /// Reads the measurements of a transfer's easy handle that the transfer itself does not know.
    ///
    /// - Parameter peer: The peer that the connection of the transfer was reported with; `nil` if no connection was reported.
    init(_ transfer: Transfer, _ easy: UnsafeMutableRawPointer, peer: Peer?) {
        var peer = unsafe peer ?? Peer(of: easy)
        // libcurl does not know the path. The port is the one that it reports for every other socket.
        if let path = transfer.options.route.socketPath, !peer.address.isEmpty { peer = Peer(address: path, port: 0) }
        let isReused = unsafe ccurl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
        func time(_ info: CURLINFO) -> Int64 { unsafe Int64(ccurl_get_offset(easy, info)) }
        let lookup = isReused ? 0 : time(CURLINFO_NAMELOOKUP_TIME_T)
        let connect = isReused ? 0 : time(CURLINFO_CONNECT_TIME_T)
        let headBytes = unsafe transfer.parser.receivedBytes
        self.init(
            nameLookup: lookup, connect: connect == 0 && Self.waitsForProxy(transfer) ? lookup + 1 : connect,
            tls: isReused ? 0 : time(CURLINFO_APPCONNECT_TIME_T),
            // Newer versions of libcurl report a time although no byte has arrived.
            firstByte: headBytes > 0 ? time(CURLINFO_STARTTRANSFER_TIME_T) : 0,
            bytesSent: unsafe Self.bytesSent(easy, transfer.options.body),
            bytesReceived: Int64(headBytes) + transfer.receiving.count,
            isReusedConnection: isReused && !peer.address.isEmpty, peerAddress: peer.address, peerPort: peer.port,
            tlsResult: transfer.connection.tls)
    }

    /// Creates the measurements of a transfer that the engine serves without libcurl.
    init(onWire transfer: Transfer) {
        // Read one by one: a copy of the progress would retain all of its objects.
        let start = transfer.connection.wire.start
        /// The microseconds from the start to a step, at least one; zero before the step.
        func time(_ instant: UInt64) -> Int64 { instant == 0 ? 0 : max(1, Int64(instant - min(instant, start)) / 1000) }
        let isReused = transfer.connection.wire.isReused
        if !isReused {
            nameLookup = time(transfer.connection.wire.lookedUp)
            connect = time(transfer.connection.wire.connected)
            tls = time(transfer.connection.wire.secured)
        }
        if let peer = transfer.connection.wire.tls?.peer { (peerAddress, peerPort) = (peer.address, peer.port) }
        firstByte = time(transfer.connection.wire.firstByte)
        let (connection, http2) = (transfer.connection.wire.connection, transfer.connection.wire.http2)
        // The handshake of a connection to an HTTPS proxy, which serves plain URLs, was with the proxy.
        if transfer.options.url.isSecure { tlsResult = (http2?.link ?? connection?.link)?.tls?.result }
        if let http2 {
            let stream = transfer.connection.wire.stream
            isReusedConnection = isReused
            (peerAddress, peerPort) = (http2.peer.address, http2.peer.port)
            bytesSent = Int64(stream?.sentCount ?? 0) + transfer.sending.takenBytes
            bytesReceived = Int64(stream?.headBytes ?? 0) + transfer.receiving.count
            if let moved = transfer.connection.switched?.movedBytes {
                bytesSent += moved.sent
                bytesReceived += moved.received
            }
            return
        }
        guard let connection else { return }
        isReusedConnection = isReused
        let moved = transfer.connection.switched?.movedBytes ?? (sent: 0, received: 0)
        bytesSent = connection.outgoing.sentCount + moved.sent
        bytesReceived = unsafe Int64(connection.decoder.headBytes) + transfer.receiving.count + moved.received
        (peerAddress, peerPort) = (connection.peer.address, connection.peer.port)
    }

    /// Returns whether a transfer is connected to its proxy, and waits for its tunnel: libcurl tells the time of such a
    /// connection only later.
    private static func waitsForProxy(_ transfer: Transfer) -> Bool {
        guard transfer.attempts == 0, transfer.options.route.proxy != nil, let socket = transfer.easy?.socket else {
            return false
        }
        return ccurl_socket_is_connected(socket)
    }

    /// Returns the size of the request as sent. libcurl reports the size of the head. From 8.8 on it includes the complete
    /// body. Earlier versions include the part of the body that is sent with the head, as for short bodies; 8.7 counts no body.
    private static func bytesSent(_ easy: UnsafeMutableRawPointer, _ requestBody: TransferOptions.Body) -> Int64 {
        let request = unsafe Int64(ccurl_get_long(easy, CURLINFO_REQUEST_SIZE))
        let hasInlineBody: Bool
        switch requestBody {
        case .none: return request
        case .bytes: hasInlineBody = true
        case .stream: hasInlineBody = false
        }
        let body = unsafe Int64(ccurl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T))
        let isCountedTwice = LibcurlFeatures.current.isAtLeast(8, 8) || (hasInlineBody && body <= request)
        return isCountedTwice ? max(request, body) : request + body
    }
}

/// The peer of a connection.
struct Peer: Hashable {
    /// The IP address.
    let address: String
    /// The port.
    let port: Int

    init(address: String, port: Int) {
        self.address = address
        self.port = port
    }

    /// Reads the peer of an easy handle; its address is empty if there is no connection.
    init(of easy: UnsafeMutableRawPointer) {
        address = unsafe ccurl_get_string(easy, CURLINFO_PRIMARY_IP).map { unsafe String(cString: $0) } ?? ""
        port = unsafe ccurl_get_long(easy, CURLINFO_PRIMARY_PORT)
    }
}
