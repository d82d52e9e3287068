import CCurl

/// Some of the connections for which libcurl makes handshakes, on sockets that the engine has connected: a multi handle that only makes
/// connections. It belongs to the engine thread.
final class TLSGroup: MultiHandle {
    /// The largest number of connections: libcurl before 8 looks through all of them when it makes another one.
    private static let capacity = 500

    /// The TLS sessions of all groups of the engine.
    private let sessions: TLSSessions
    private let configuration: EngineConfiguration
    private weak var table: WireTable?

    init?(_ table: WireTable, _ configuration: EngineConfiguration, watch: CallWatch) {
        sessions = table.groups.first?.sessions ?? TLSSessions()
        self.configuration = configuration
        self.table = table
        super.init(watch: watch)
    }

    deinit { cleanUp() }

    var hasRoom: Bool { handles.count < Self.capacity }

    /// Returns a handle for one connection; `nil` if memory has run out.
    func makeHandle() -> EasyHandle? { unsafe EasyHandle(configuration: configuration, share: sessions.share) }

    override func want(_ socket: Int32, _ interest: SocketInterest) { table?.handshake(on: socket, wants: interest) }
    override func didEnd(_ easy: EasyHandle, _ code: CURLcode) {
        if let transfer = easy.transfer { table?.handshakeDidEnd(for: transfer, code) }
    }
    override func didCut(_ socket: Int32) { table?.didCut(socket) }
}

/// The TLS sessions that servers let the engine resume, as libcurl has them.
@safe
final class TLSSessions {
    /// libcurl's share handle; `nil` if memory has run out.
    let share: UnsafeMutableRawPointer?

    init() { unsafe share = ccurl_share_tls_sessions() }
    deinit { if let share = unsafe share { unsafe curl_share_cleanup(share) } }
}

extension Callbacks {
    /// The callback for opening a socket, which gives libcurl the connected one, and later ones to connect.
    static let giveSocket: ccurl_opensocket_callback = { context, _, _ in
        guard let context = unsafe context else { return CURL_SOCKET_BAD }
        let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
        easy.isProxySecured = false
        defer { easy.socket = -1 }
        guard easy.socket < 0 else { return easy.socket }
        guard let transfer = easy.transfer, let tls = transfer.wire.tls else { return CURL_SOCKET_BAD }
        let route = transfer.options.route
        let isConnected = route.unixSocket != nil && route.isConnectedByEngine
        guard unsafe ccurl_set_sockets_connected(easy.curl, isConnected) == CURLE_OK else { return CURL_SOCKET_BAD }
        return transfer.engine.wire.reopen(tls, for: transfer)
    }

    /// The callback for closing a socket, which the engine itself closes.
    static let keepSocket: ccurl_closesocket_callback = { _, _ in 0 }
}
