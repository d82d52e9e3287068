import CCurl

/// Some of the connections for which libcurl makes handshakes, on sockets that the engine has connected: a multi handle that only makes
/// connections. It belongs to the engine thread.
@safe
final class TLSGroup {
    /// The largest number of connections: libcurl before 8 looks through all of them when it makes another one.
    private static let capacity = 500

    private let multi: UnsafeMutableRawPointer
    /// The TLS sessions of all groups of the engine.
    private let sessions: TLSSessions
    private let configuration: EngineConfiguration
    let watch: CallWatch
    private weak var table: WireTable?
    private var handles: [EasyHandle] = []
    /// The instant by which libcurl must be called; `nil` if there is no limit.
    private(set) var deadline: EngineInstant?

    init?(_ table: WireTable, _ configuration: EngineConfiguration, watch: CallWatch) {
        sessions = table.groups.first?.sessions ?? TLSSessions()
        guard let multi = unsafe curl_multi_init() else { return nil }
        unsafe self.multi = multi
        self.configuration = configuration
        self.watch = watch
        self.table = table
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe ccurl_multi_set_socket_function(multi, Callbacks.givenSocket, this)
        unsafe ccurl_multi_set_timer_function(multi, Callbacks.groupTimer, this)
    }

    deinit {
        for easy in handles { unsafe curl_multi_remove_handle(multi, easy.curl) }
        unsafe curl_multi_cleanup(multi)
        handles = []
    }

    var hasRoom: Bool { handles.count < Self.capacity }

    /// Returns a handle for one connection; `nil` if memory has run out.
    func makeHandle() -> EasyHandle? {
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe EasyHandle(configuration: configuration, context: this, share: sessions.share)
    }

    /// Passes a prepared handle to libcurl. Returns the failure if libcurl refuses it.
    func add(_ easy: EasyHandle) -> EngineFailure? {
        let code = inside { unsafe curl_multi_add_handle(multi, easy.curl) }
        guard code == CURLM_OK else {
            return EngineFailure(kind: .internalError, message: "refused the handshake with code \(code.rawValue)")
        }
        easy.runningIndex = handles.count
        handles.append(easy)
        return nil
    }

    /// Removes a handle, whose connection libcurl then closes, except for the socket.
    func remove(_ easy: EasyHandle) {
        guard easy.runningIndex >= 0 else { return }
        inside { _ = unsafe curl_multi_remove_handle(multi, easy.curl) }
        let last = handles.removeLast()
        if last !== easy {
            handles[easy.runningIndex] = last
            last.runningIndex = easy.runningIndex
        }
        easy.runningIndex = -1
    }

    // MARK: Turns

    /// Runs libcurl for a ready socket, or for its timer if `ready` is `nil`, and ends the handshakes that are complete or have failed.
    func act(on ready: ReadySocket?) {
        var count: Int32 = 0
        if ready == nil { deadline = nil }
        let bits = ready.map { Int32($0.interest.rawValue) | ($0.hasFailed ? CURL_CSELECT_ERR : 0) } ?? 0
        inside {
            _ = unsafe curl_multi_socket_action(multi, ready?.descriptor ?? CURL_SOCKET_TIMEOUT, bits, &count)
        }
        if ready == nil, deadline == nil {
            var milliseconds = -1
            _ = unsafe curl_multi_timeout(multi, &milliseconds)
            setTimer(milliseconds)
        }
        var code = CURLE_OK
        while let curl = unsafe ccurl_multi_next_finished(multi, &code) {
            guard let context = unsafe ccurl_get_pointer(curl, CURLINFO_PRIVATE) else { continue }
            let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            if let transfer = easy.transfer { table?.handshakeDidEnd(for: transfer, code) }
        }
    }

    fileprivate func setTimer(_ milliseconds: Int) {
        deadline = milliseconds < 0 ? nil : MonotonicClock.now().advanced(by: .milliseconds(milliseconds))
    }

    fileprivate func want(_ socket: Int32, _ interest: SocketInterest) { table?.handshake(on: socket, wants: interest) }

    /// Runs `body`, which calls libcurl or OpenSSL, as a call that the watchdog checks.
    func inside<Result>(_ body: () -> Result) -> Result {
        watch.begin()
        defer { if let socket = watch.end() { table?.didCut(socket) } }
        return body()
    }
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

    fileprivate static let givenSocket: ccurl_socket_callback = { _, descriptor, what, context, _ in
        guard let context = unsafe context else { return 0 }
        let interest = what == CURL_POLL_REMOVE ? [] : SocketInterest(rawValue: UInt32(what & 3))
        unsafe Unmanaged<TLSGroup>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.want(descriptor, interest) }
        return 0
    }

    fileprivate static let groupTimer: ccurl_timer_callback = { _, milliseconds, context in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<TLSGroup>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.setTimer(milliseconds) }
        return 0
    }
}
