import CCurl
private import Glibc

/// The C functions that libcurl calls. Their context is an ``EasyHandle`` for transfers, and a ``MultiHandle`` for sockets and timers; both
/// outlive the libcurl handle that refers to them.
enum Callbacks {
    static let header: ccurl_data_callback = { bytes, size, count, context in
        let length = size * count
        return unsafe withTransfer(context) { transfer in
            unsafe transfer?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: length)) ?? 0
        }
    }

    static let body: ccurl_data_callback = { bytes, size, count, context in
        let length = size * count
        return unsafe withTransfer(context) { transfer in
            unsafe transfer?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: length)) ?? 0
        }
    }

    /// The callback for libcurl's log: its texts, the heads of requests, the lines of heads, and the undecoded bytes of the body.
    static let log: ccurl_debug_callback = { _, kind, bytes, count, context in
        let kinds = [CURLINFO_DATA_IN, CURLINFO_TEXT, CURLINFO_HEADER_IN, CURLINFO_HEADER_OUT]
        guard kinds.contains(kind) else { return 0 }
        unsafe withTransfer(context) { transfer in
            let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
            if kind == CURLINFO_HEADER_OUT {
                if unsafe bytes.hasPrefix("CONNECT ") { transfer?.didAskForTunnel() }
                return
            }
            if kind == CURLINFO_HEADER_IN {
                unsafe transfer?.readTunnelLine(bytes)
                return
            }
            guard kind == CURLINFO_TEXT else {
                unsafe transfer?.receiveRaw(bytes)
                return
            }
            unsafe transfer?.readLog(bytes)
            unsafe transfer?.receiveLog(bytes)
        }
        return 0
    }

    static let read: ccurl_data_callback = { buffer, size, count, context in
        let length = size * count
        return unsafe withTransfer(context) { transfer in
            unsafe transfer?.fillUpload(UnsafeMutableRawBufferPointer(start: buffer, count: length))
                ?? Int(CURL_READFUNC_ABORT)
        }
    }

    /// The callback for the fields after a chunked body, called when the body has ended.
    static let trailers: ccurl_trailer_callback = { list, context in
        guard let list = unsafe list else { return CURL_TRAILERFUNC_ABORT }
        for line in unsafe withTransfer(context, { $0?.sending.trailerLines ?? [] }) {
            guard
                let longer = unsafe line.withUnsafeBufferPointer({
                    unsafe curl_slist_append(list.pointee, $0.baseAddress)
                })
            else {
                return CURL_TRAILERFUNC_ABORT
            }
            unsafe list.pointee = longer
        }
        return CURL_TRAILERFUNC_OK
    }

    /// The callback for rewinding a body, which always fails: streams cannot be rewound, and libcurl itself stores bodies in memory.
    static let seek: ccurl_seek_callback = { _, _, _ in CURL_SEEKFUNC_FAIL }

    static let connected: ccurl_prereq_callback = { context, peer, _, peerPort, port in
        guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
        return unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { easy in
            unsafe easy.notePeer(peer, port: peerPort)
            easy.handshake?.isComplete = true
            if let tls = easy.transfer?.wire.tls { return tls.isConnected() }
            return easy.transfer?.isConnected(from: port) ?? CURL_PREREQFUNC_ABORT
        }
    }

    static let tls: ccurl_tls_callback = { _, tlsContext, context in
        guard let context = unsafe context else { return CURLE_OK }
        let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
        return unsafe handle.beginHandshake(tlsContext)
    }

    static let openSocket: ccurl_opensocket_callback = { context, _, address in
        guard let context = unsafe context, let address = unsafe address else { return CURL_SOCKET_BAD }
        let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
        guard let transfer = handle.transfer, transfer.mayOpenSocket(), handle.proveTunnel() else {
            return CURL_SOCKET_BAD
        }
        unsafe transfer.reportConnection(to: address)
        unsafe transfer.examine(address)
        handle.isProxySecured = false
        let path = handle.route?.socketPath
        let limit = handle.configuration.sendingLimitMilliseconds
        let descriptor = unsafe path == nil ? ccurl_socket_open(address, limit) : ccurl_socket_open_unix()
        if descriptor < 0 { handle.errors.socket = errno }
        if descriptor >= 0, let path {
            handle.errors.path = unsafe ccurl_socket_connect_unix(descriptor, path)
            guard handle.errors.path == 0 else {
                _ = close(descriptor)
                return CURL_SOCKET_BAD
            }
        }
        if descriptor >= 0, let multi = unsafe multi(handle.context) {
            unsafe multi.sockets.didOpen(descriptor, for: ObjectIdentifier(handle))
            multi.watch.didOpen(descriptor)
        }
        return descriptor
    }

    static let closeSocket: ccurl_closesocket_callback = { context, descriptor in
        if let multi = unsafe multi(context) {
            multi.watch.willClose(descriptor)
            unsafe multi.sockets.willClose(descriptor)
        }
        return close(descriptor)
    }

    static let socket: ccurl_socket_callback = { easy, descriptor, what, context, _ in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<MultiHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { multi in
            // A query for the socket of a transfer would make libcurl search its pool.
            guard let easy = unsafe easy, let handle = unsafe ccurl_get_pointer(easy, CURLINFO_PRIVATE) else {
                return unsafe multi.sockets.want(descriptor, SocketInterest(curl: what), for: nil)
            }
            unsafe Unmanaged<EasyHandle>.fromOpaque(handle)._withUnsafeGuaranteedRef { handle in
                unsafe multi.sockets.want(
                    descriptor, SocketInterest(curl: what), for: ObjectIdentifier(handle))
                handle.socket = descriptor
                handle.socketGeneration = unsafe multi.sockets.generation(of: descriptor)
                if what & CURL_POLL_IN == 0 { handle.transfer?.libcurlStoppedReading() }
            }
        }
        return 0
    }

    static let timer: ccurl_timer_callback = { _, milliseconds, context in
        unsafe multi(context)?.setTimer(milliseconds)
        return 0
    }

    private static func withTransfer<Result>(
        _ context: UnsafeMutableRawPointer?, _ body: (Transfer?) -> Result
    ) -> Result {
        guard let context = unsafe context else { return body(nil) }
        return unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { body($0.transfer) }
    }

    private static func multi(_ context: UnsafeMutableRawPointer?) -> MultiHandle? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    }
}

extension SocketInterest {
    /// Converts libcurl's interest: CURL_POLL_IN 1, OUT 2, INOUT 3, REMOVE 4.
    fileprivate init(curl what: Int32) {
        self = what == CURL_POLL_REMOVE ? [] : SocketInterest(rawValue: UInt32(what & 3))
    }
}
