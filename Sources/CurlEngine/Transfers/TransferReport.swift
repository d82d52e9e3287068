import CCurl

/// The measurements of one transfer.
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

/// The measuring, in place: an initializer with branches ends with a copy of its value.
extension TransferReport {
    /// Reads libcurl's measurements of a request over HTTP/3.
    mutating func measure(_ exchange: HTTP3Exchange) {
        let easy = unsafe exchange.easy.curl
        let isReused = unsafe ccurl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
        func time(_ info: CURLINFO) -> Int64 { unsafe Int64(ccurl_get_offset(easy, info)) }
        /// The microseconds from the transfer's start to a step, which libcurl counts from a later instant; zero before the step.
        func step(_ info: CURLINFO) -> Int64 {
            let time = time(info)
            return time > 0 ? time + exchange.delay : 0
        }
        if !isReused {
            nameLookup = step(CURLINFO_NAMELOOKUP_TIME_T)
            connect = step(CURLINFO_CONNECT_TIME_T)
            tls = step(CURLINFO_APPCONNECT_TIME_T)
        }
        // Newer versions of libcurl report a time although no byte has arrived.
        if exchange.headBytes > 0 { firstByte = step(CURLINFO_STARTTRANSFER_TIME_T) }
        // From 8.8 on, the size of the request is the size of its head and body.
        bytesSent = unsafe Int64(ccurl_get_long(easy, CURLINFO_REQUEST_SIZE))
        if !LibcurlFeatures.current.isAtLeast(8, 8) { bytesSent += time(CURLINFO_SIZE_UPLOAD_T) }
        bytesReceived = Int64(exchange.headBytes) + exchange.transfer.receiving.count
        if let peer = exchange.peer { (peerAddress, peerPort) = (peer.address, peer.port) }
        isReusedConnection = isReused && exchange.peer != nil
        tlsResult = exchange.transfer.connection.tls
    }

    /// Measures a transfer over TCP.
    mutating func measure(onWire transfer: Transfer) {
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
}

/// The peer of a connection.
struct Peer: Hashable {
    /// The IP address.
    let address: String
    /// The port.
    let port: Int

}
