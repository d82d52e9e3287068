import CCurl
private import Glibc

/// The handshakes of a connection, with proxies and of TLS, and its TLS. libcurl makes the handshakes on the connected socket, by all rules
/// of the transfer. Then the engine sends and receives, through the OpenSSL that libcurl has loaded. libcurl's handle is kept, because the
/// session belongs to it.
@safe
final class WireTLS {
    /// The TLS of a connection.
    enum Kind {
        /// None: the handshakes were with proxies, and the socket is all that is left.
        case none
        /// The server's, whose session the engine takes over.
        case taken
        /// An HTTPS proxy's, and perhaps the server's inside of it: all bytes pass through libcurl.
        case inLibcurl
    }

    /// The socket; another one if a proxy has ended the connection after it has asked for credentials.
    private(set) var socket: Int32
    let peer: Peer
    let kind: Kind
    let easy: EasyHandle
    private let group: TLSGroup
    /// OpenSSL's session, after the handshake.
    private var session: OpaquePointer?
    /// The session, when the engine has taken it after the first bytes of the first response. Until then libcurl moves the bytes, because
    /// it keeps the tickets for later sessions only while it receives.
    private var stream: OpaquePointer?
    /// Whether libcurl has received all bytes that there are, if it moves them.
    private var isDrained = true
    /// The chain of the server, once it was read.
    private var chain: CertificateChain?
    /// Whether the rules of the connection verify certificates.
    private let verifies: Bool
    /// The reason of the last failure.
    private(set) var failure: EngineFailure?

    /// Begins the handshake of a transfer; `nil` if memory has run out.
    init?(_ transfer: Transfer, in group: TLSGroup, socket: Int32, peer: Peer) {
        guard let easy = group.makeHandle() else { return nil }
        self.easy = easy
        self.group = group
        self.socket = socket
        self.peer = peer
        kind = Kind(transfer.options)
        unsafe (session, stream) = (nil, nil)
        verifies = transfer.options.trust.server.verifies
        (easy.socket, easy.transfer) = (socket, transfer)
        group.watch.didOpen(socket)
    }

    /// Passes the handshake to libcurl. Returns the failure if libcurl refuses it.
    func begin(for transfer: Transfer, asking far: IPAddress?) -> EngineFailure? {
        guard easy.prepareHandshake(for: transfer, with: peer, asking: far) else {
            return EngineFailure(kind: .unsupported, message: "an option of the request")
        }
        return group.add(easy)
    }

    /// Records the session at the end of the handshake. Returns libcurl's code to continue or to abort.
    func isConnected() -> Int32 {
        if kind != .none { unsafe session = easy.tlsSession }
        return unsafe kind == .taken && session == nil ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK
    }

    /// Replaces the socket, which libcurl has left, by one that libcurl is about to connect.
    func replaceSocket(by socket: Int32) {
        group.watch.willClose(self.socket)
        self.socket = socket
        group.watch.didOpen(socket)
    }

    /// Ends the handshake with libcurl's result. Returns the failure, if it has failed.
    func handshakeDidEnd(_ code: CURLcode) -> EngineFailure? {
        defer {
            easy.watchTunnel(false)
            easy.transfer = nil
        }
        let isKept = isKept
        if code == CURLE_OK, isKept, unsafe kind != .taken || session != nil { return nil }
        unsafe session = nil
        guard isKept || code != CURLE_OK else {
            let text = "the server ended the connection after the TLS handshake"
            return EngineFailure(kind: .connect, message: text, code: Int(CURLE_COULDNT_CONNECT.rawValue))
        }
        let failure = easy.failure(code, isSent: false)
        return failure.kind == .send || failure.kind == .receive ? failure.as(.connect) : failure
    }

    /// Whether libcurl has the connection, and so the session. Until bytes were moved, libcurl closes one that the server has ended, while
    /// it makes others.
    private var isKept: Bool { unsafe ccurl_get_socket(easy.curl, CURLINFO_ACTIVESOCKET) == socket }

    /// The session, if libcurl has not closed its connection.
    private var openSession: OpaquePointer? { unsafe stream != nil || session != nil && isKept ? session : nil }

    /// The certificates of the server.
    var certificates: CertificateChain? {
        if chain == nil { chain = unsafe CertificateChain(of: openSession, verifies: verifies) }
        return chain
    }

    /// The address of the peer with its port, or the path of its socket.
    var peerName: String { IPAddress(peer.address).map { "\($0.bracketed):\(peer.port)" } ?? peer.address }

    /// What the handshake has agreed on.
    private(set) lazy var result = unsafe TLSResult(of: openSession).map(Boxed.init)

    /// Whether the connection has resumed an earlier session, which has no verified chain.
    var isResumed: Bool { unsafe ccurl_tls_is_resumed(UnsafeMutableRawPointer(openSession)) }

    /// Whether the server has agreed on HTTP/2.
    var hasAgreedOnHTTP2: Bool { result?.value.applicationProtocol == "h2" }

    /// Ends the connection if the server asks for the client's certificate after the handshake (RFC 9113, section 9.2.3).
    func refuseLateCertificates() { unsafe ccurl_tls_refuse_certificates(UnsafeMutableRawPointer(openSession)) }

    /// The transfer for which libcurl makes the handshake.
    var transfer: Transfer? { easy.transfer }

    /// Continues the handshake on the ready socket.
    func isReady(_ ready: ReadySocket) { group.act(on: ready) }

    // MARK: Bytes

    /// Receives bytes. Returns their number, 0 at the end of the session, or a negative result (`CCURL_TLS_WAIT` and those beside it).
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let stream = unsafe stream else { return unsafe receiveThroughLibcurl(buffer) }
        let count = group.inside { unsafe ccurl_tls_receive(stream, buffer.baseAddress, buffer.count) }
        if count <= Int(CCURL_TLS_CUT_OFF) { failure = describe("SSL_read", action: "Recv", CURLE_RECV_ERROR) }
        return count
    }

    private func receiveThroughLibcurl(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        let code = group.inside { unsafe curl_easy_recv(easy.curl, buffer.baseAddress, buffer.count, &count) }
        isDrained = code == CURLE_AGAIN
        switch code {
        case CURLE_OK where count > 0:
            // libcurl itself does not tell in all of its versions that an end was cut off.
            guard kind != .taken || take() else {
                failure = .outOfMemory
                return Int(CCURL_TLS_FAILED)
            }
            return count
        // Before 8, libcurl does not tell an end without an alert from one with it.
        case CURLE_OK:
            guard unsafe kind == .inLibcurl && session != nil && ccurl_tls_is_open(easy.curl) else { return 0 }
            failure = EngineFailure(CURLE_RECV_ERROR, detail: "the peer ended the connection without ending TLS")
            return Int(CCURL_TLS_CUT_OFF)
        case CURLE_AGAIN: return Int(CCURL_TLS_WAIT)
        default:
            failure = easy.failure(code, isSent: true)
            let words = easy.words
            // The end of a connection is no error of the system: 8.12 names none.
            let isEnd = words.containsBytes("unexpected eof") || words.hasByteSuffix("SSL_ERROR_SYSCALL, errno 0")
            return Int(isEnd ? CCURL_TLS_CUT_OFF : CCURL_TLS_FAILED)
        }
    }

    /// Sends bytes. Returns the number that was taken, or a negative result as ``receive(_:)`` does.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let stream = unsafe stream else { return unsafe sendThroughLibcurl(bytes) }
        let count = group.inside { unsafe ccurl_tls_send(stream, bytes.baseAddress, bytes.count) }
        if count == Int(CCURL_TLS_FAILED) { failure = describe("SSL_write", action: "Send", CURLE_SEND_ERROR) }
        return count
    }

    private func sendThroughLibcurl(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count = 0
        let code = group.inside { unsafe curl_easy_send(easy.curl, bytes.baseAddress, bytes.count, &count) }
        switch code {
        case CURLE_OK where count > 0: return count
        case CURLE_OK, CURLE_AGAIN: return Int(CCURL_TLS_WAIT)
        default:
            failure = easy.failure(code, isSent: true)
            return Int(CCURL_TLS_FAILED)
        }
    }

    /// Takes the session over from libcurl. Returns `false` if memory has run out.
    private func take() -> Bool {
        unsafe stream = ccurl_tls_take(UnsafeMutableRawPointer(session), socket)
        return unsafe stream != nil
    }

    /// Returns the failure of the stream, in libcurl's words.
    private func describe(_ function: String, action: String, _ code: CURLcode) -> EngineFailure {
        guard let stream = unsafe stream else { return EngineFailure(code, detail: "") }
        var text = [CChar](repeating: 0, count: 256)
        let error = unsafe ccurl_tls_describe(stream, &text, text.count)
        let reason = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let detail =
            reason.isEmpty
            ? "\(action) failure: \(EngineFailure.systemText(error))" : "OpenSSL \(function): \(reason), errno \(error)"
        return explained(EngineFailure(code, detail: detail))
    }

    /// Returns the failure with the reason that an alert of the server gives.
    func explained(_ failure: EngineFailure) -> EngineFailure { easy.handshake?.explained(failure) ?? failure }

    /// Whether received bytes may be left that the kernel does not know of.
    var hasPending: Bool { unsafe stream.map { unsafe ccurl_tls_has_pending($0) } ?? !isDrained }

    /// Returns whether the server has neither sent bytes nor ended the connection, which is idle.
    func isQuiet() -> Bool {
        if let stream = unsafe stream { return group.inside { unsafe ccurl_tls_is_quiet(stream) } }
        var byte: UInt8 = 0
        let count = unsafe withUnsafeMutableBytes(of: &byte) { unsafe receiveThroughLibcurl($0) }
        return count == Int(CCURL_TLS_WAIT)
    }

    // MARK: End

    /// Ends the session, before the socket is closed.
    func close() {
        group.watch.willClose(socket)
        easy.transfer = nil
        if kind == .taken, unsafe session != nil, unsafe stream == nil, isKept { _ = take() }
        // libcurl itself does not tell the server the end in all of its versions.
        if let stream = unsafe stream { group.inside { unsafe ccurl_tls_close(stream) } }
        group.remove(easy)
        unsafe (session, stream) = (nil, nil)
    }
}

extension WireTLS.Kind {
    fileprivate init(_ options: TransferOptions) {
        let keepsBytes = options.route.proxy?.scheme == .https || !LibcurlFeatures.current.lendsSessions
        self = keepsBytes ? .inLibcurl : options.url.isSecure ? .taken : .none
    }
}
