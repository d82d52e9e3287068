import CCurl

/// The C functions that libcurl calls. Their context is an object that outlives the libcurl handle that refers to it.
enum Callbacks {
    /// The callback for libcurl's log, in which the requests for a tunnel stand, and the lines of their responses.
    static let log: ccurl_debug_callback = { _, kind, bytes, count, context in
        guard kind == CURLINFO_HEADER_IN || kind == CURLINFO_HEADER_OUT, let context = unsafe context else { return 0 }
        unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { easy in
            let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
            if kind == CURLINFO_HEADER_IN {
                unsafe easy.readTunnelLine(bytes)
            } else if unsafe bytes.hasPrefix("CONNECT ") {
                easy.didAskForTunnel()
            }
        }
        return 0
    }

    /// The callback at the end of the handshakes of a connection.
    static let connected: ccurl_prereq_callback = { context, _, _, _, _ in
        guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
        return unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { easy in
            easy.handshake?.isComplete = true
            return easy.transfer?.wire.tls?.isConnected() ?? CURL_PREREQFUNC_ABORT
        }
    }

    static let tls: ccurl_tls_callback = { _, tlsContext, context in
        guard let context = unsafe context else { return CURLE_OK }
        let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
        return unsafe handle.beginHandshake(tlsContext)
    }
}
