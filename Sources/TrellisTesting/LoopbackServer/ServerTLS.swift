import CServerTLS

/// The settings of TLS servers with one certificate, for tests.
@safe
final class ServerTLS: @unchecked Sendable {
    // Unchecked: the settings do not change after their creation, and OpenSSL counts their references atomically.
    fileprivate let handle: OpaquePointer

    /// Creates the settings; `nil` if OpenSSL is missing, or if it refuses the certificate.
    ///
    /// - Parameters:
    ///   - certificate: The certificate of the server.
    ///   - clientAuthority: The authority that must have issued the certificates of clients; `nil` if clients need none.
    init?(_ certificate: IssuedCertificate, clientAuthority: IssuedCertificate? = nil) {
        guard let created = unsafe ccurl_server_tls_create(certificate.handle, clientAuthority?.handle) else {
            return nil
        }
        unsafe handle = created
    }

    deinit { unsafe ccurl_server_tls_free(handle) }
}

/// The server's side of TLS on one connection. It has no socket: its owner carries the encrypted bytes.
@safe
final class ServerTLSSession {
    /// The result of a step.
    enum Step: Sendable, Hashable {
        /// The step is complete; with decrypted bytes after a read.
        case complete([UInt8])
        /// The client has ended its side (`close_notify`; RFC 8446, section 6.1).
        case ended
        /// More bytes of the client are needed.
        case needsBytes
        /// The step has failed; the text is OpenSSL's.
        case failed(String)
    }

    private let handle: OpaquePointer
    /// The settings, which outlive the session.
    private let settings: ServerTLS

    /// Creates the TLS of a connection; `nil` if memory has run out.
    init?(_ settings: ServerTLS) {
        guard let created = unsafe ccurl_server_session_create(settings.handle) else { return nil }
        unsafe handle = created
        self.settings = settings
    }

    deinit { unsafe ccurl_server_session_free(handle) }

    /// Continues the handshake. After every step, also a failed one, there may be bytes to send.
    func handshake() -> Step {
        let result = unsafe ccurl_server_session_handshake(handle)
        return result == CCURL_SESSION_COMPLETE ? .complete([]) : meaning(of: Int(result))
    }

    /// Returns the next decrypted bytes, at most `count`.
    func read(upTo count: Int) -> Step {
        var result = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            guard let start = buffer.baseAddress else { return }
            result = unsafe ccurl_server_session_read(handle, start, buffer.count)
            filled = max(0, result)
        }
        return result > 0 ? .complete(bytes) : result == 0 ? .ended : meaning(of: result)
    }

    /// Encrypts bytes. Returns whether that was possible.
    func write(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe ccurl_server_session_write(handle, start, bytes.count)
        }
    }

    /// Changes the key of the server (RFC 8446, section 4.6.3). Returns whether that was possible.
    func updateKey() -> Bool { unsafe ccurl_server_session_update_key(handle) }

    /// Announces the end of the connection (`close_notify`).
    func end() { unsafe ccurl_server_session_end(handle) }

    /// Takes encrypted bytes of the client.
    func receive(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe ccurl_server_session_receive(handle, start, bytes.count)
        }
    }

    /// Returns the encrypted bytes that are to be sent to the client; empty if there are none.
    func takeOutput() -> [UInt8] {
        var output: [UInt8] = []
        while true {
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: 32 << 10) { buffer, filled in
                guard let start = buffer.baseAddress else { return }
                filled = unsafe ccurl_server_session_send(handle, start, buffer.count)
            }
            if piece.isEmpty { return output }
            output += piece
        }
    }

    private func meaning(of result: Int) -> Step {
        result == Int(CCURL_SESSION_NEEDS_BYTES)
            ? .needsBytes : .failed(unsafe String(cString: ccurl_server_session_reason(handle)))
    }
}
