import CCurl
private import Glibc

/// The owner of one `CURL *`. It belongs to the engine thread.
@safe
final class EasyHandle {
    let curl: UnsafeMutableRawPointer
    /// The transfer that uses the handle now.
    var transfer: Transfer?
    /// The last socket that libcurl named for the handle; -1 if there was none yet.
    var socket: Int32 = -1
    /// The generation of that socket in the ``SocketTable``.
    var socketGeneration: UInt32 = 0
    /// The index of the handle in the multi handle's list of running handles.
    var runningIndex = -1
    /// The buffer for libcurl's error text.
    let errorBuffer: UnsafeMutablePointer<CChar>
    /// The head of the current transfer's response, to which C adds plain field lines itself.
    private let headTarget: UnsafeMutablePointer<ccurl_head_target>
    /// The lines in ``OptionLists/headers``.
    private var headerLines = HeaderLines(lines: [])
    var given = GivenOptions()
    var errors = SocketErrors()
    var lists = OptionLists()
    let configuration: EngineConfiguration
    private let defaultHeaderList: UnsafeMutablePointer<curl_slist>?
    /// The multi handle, as the context of the socket callbacks.
    let context: UnsafeMutableRawPointer
    /// The share handles of the engine. The configuration keeps the common one.
    let shares: ShareHandles
    /// The peer of the connection that a transfer of the handle used last; `nil` if there was none.
    private var peer: Peer?
    /// The address of ``peer`` as libcurl has reported it.
    private var peerBytes: [CChar] = [0]
    /// The number that is part of the name of libcurl's pool of connections (``SharedOrigin/scope``).
    private(set) var scope = 0
    /// The route whose options are set; `nil` if libcurl has not accepted all of them.
    private(set) var route: TransferRoute?
    /// The rules of TLS whose options are set; `nil` if libcurl has not accepted all of them.
    private var trust: TransferTrust?
    /// The record of the last TLS handshake for the current transfer; `nil` if there was none.
    var handshake: TLSRecord?
    /// Whether the TLS session with an `https` proxy was set up on the connection that is being made.
    var isProxySecured = false

    init?(
        configuration: EngineConfiguration, defaultHeaderList: UnsafeMutablePointer<curl_slist>?,
        context: UnsafeMutableRawPointer, shares: ShareHandles
    ) {
        guard let curl = unsafe curl_easy_init() else { return nil }
        unsafe self.curl = curl
        unsafe self.context = context
        unsafe self.defaultHeaderList = defaultHeaderList
        self.shares = shares
        self.configuration = configuration
        unsafe headTarget = .allocate(capacity: 1)
        unsafe headTarget.initialize(to: ccurl_head_target())
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(curl)
        lists.free()
        unsafe headTarget.deallocate()
        unsafe errorBuffer.deallocate()
    }

    // MARK: Options

    /// Prepares the handle for a transfer. Returns `false` if libcurl refuses an option.
    ///
    /// - Parameter addresses: The entries that the transfer adds to libcurl's cache of addresses.
    func prepare(for transfer: Transfer, adding addresses: HeaderLines?) -> Bool {
        self.transfer = transfer
        unsafe headTarget.pointee.head = transfer.parser.head
        socket = -1
        let options = transfer.options
        // The options of other rules are not undone one by one. libcurl keeps what a proxy has asked for, which is not for another one.
        let knowsProxy = self.route !== options.route && self.route?.proxy?.credentials != nil
        let isReset = !given.isPristine || trust !== options.trust || knowsProxy
        if isReset {
            unsafe curl_easy_reset(curl)
            setCommonOptions()
            given.isPristine = true
            route = nil
            trust = apply(options.trust) ? options.trust : nil
        }
        unsafe errorBuffer[0] = 0
        (errors.socket, errors.path) = (0, 0)
        if handshake != nil { handshake = nil }
        let route = options.route
        if self.route !== route { self.route = apply(route, trust: options.trust, isReset: isReset) ? route : nil }
        if route.proxy?.credentials?.isDigest == true { watchTunnel(true) }
        let scope = transfer.engine.streams.scope(of: transfer)
        if self.scope != scope {
            self.scope = scope
            set(CURLOPT_ADDRESS_SCOPE, scope)
        }
        return self.route != nil && trust != nil && addresses.map(load) ?? true && setOptions(options)
    }

    /// Releases the transfer and removes its options.
    func finish() {
        unsafe headTarget.pointee.head = nil
        transfer = nil
        keepAddresses(false)
        watchStream(false)
        watchTunnel(false)
        if given.hasPostFields {
            // The handle is reset to a plain GET, so that the next transfer needs no complete reset. The method is set last, because every
            // option about fields selects POST again.
            set(CURLOPT_POSTFIELDS, nil as String?)
            _ = unsafe ccurl_set_offset(curl, CURLOPT_POSTFIELDSIZE_LARGE, -1)
            set(CURLOPT_CUSTOMREQUEST, nil as String?)
            set(CURLOPT_HTTPGET, 1)
            given.hasPostFields = false
        }
        if given.tellsWhatHappens {
            readLog(false)
            given.tellsWhatHappens = false
        }
        if given.hasTarget {
            set(CURLOPT_REQUEST_TARGET, nil as String?)
            given.hasTarget = false
        }
        if keptHeaderBytes > Self.maximumKeptHeaderBytes { forgetHeaders() }
    }

    /// The maximum size of the header lines that stay set after their transfer, in bytes. There may be hundreds of handles.
    private static let maximumKeptHeaderBytes = 4 << 10
    /// The size of the header lines of the last transfer, in bytes.
    var keptHeaderBytes: Int { headerLines.bytes.count }

    /// Sets the header lines of a transfer; `nil` stands for the default lines. The lines of the last transfer are still set, because
    /// many requests have the same lines.
    private func setHeaders(_ lines: HeaderLines?) -> Bool {
        guard let lines else {
            if given.hasOwnHeaders { forgetHeaders() }
            return true
        }
        if given.hasOwnHeaders, headerLines.areSame(as: lines) { return true }
        let list = unsafe lines.packed()
        guard unsafe list != nil || lines.count == 0 else { return false }
        unsafe set(CURLOPT_HTTPHEADER, list)
        unsafe ccurl_free(lists.headers)
        unsafe lists.headers = list
        (headerLines, given.hasOwnHeaders) = (lines, true)
        return true
    }

    /// Sets the default header lines, and releases the last transfer's lines.
    func forgetHeaders() {
        unsafe set(CURLOPT_HTTPHEADER, defaultHeaderList)
        unsafe ccurl_free(lists.headers)
        unsafe lists.headers = nil
        (headerLines, given.hasOwnHeaders) = (HeaderLines(lines: []), false)
    }

    private func setOptions(_ options: TransferOptions) -> Bool {
        // A plain GET and a body in memory leave nothing behind or are undone by `finish()`, and header lines are set for each transfer
        // that needs others; every other option makes the next transfer begin with a reset.
        guard setHeaders(options.headerLines) else { return false }
        let isAccepted = unsafe ccurl_set_url(curl, options.url.handle) == CURLE_OK
        if let target = options.requestTarget {
            set(CURLOPT_REQUEST_TARGET, target)
            given.hasTarget = true
        }
        let bufferSize = max(options.receiveBufferSize, Self.minimumBufferSize(options))
        if given.receiveBufferSize != bufferSize {
            set(CURLOPT_BUFFERSIZE, bufferSize)
            given.receiveBufferSize = bufferSize
        }
        if given.forbidsResumption != options.forbidsResumption {
            given.forbidsResumption = options.forbidsResumption
            set(CURLOPT_SSL_SESSIONID_CACHE, given.forbidsResumption ? 0 : 1)
        }
        if options.version != .http2OverTLS, options.version != .http2Only { given.isPristine = false }
        if options.mayConnectForLong {
            set(CURLOPT_CONNECTTIMEOUT_MS, Int(Int32.max))
            given.isPristine = false
        }
        return isAccepted && setVersion(options.version) && setMethod(options)
    }

    /// Returns the smallest receive buffer that works, in bytes. Before 8.1, libcurl reads up to 32 KiB of HTTP/2 at once, drops the data
    /// that does not fit into the transfer's buffer, and waits for a socket on which no more data arrives.
    private static func minimumBufferSize(_ options: TransferOptions) -> Int {
        LibcurlFeatures.current.isAtLeast(8, 1) || !options.mayBeHTTP2 ? 0 : 96 << 10
    }

    private func setMethod(_ options: TransferOptions) -> Bool {
        switch options.body {
        case .none where options.method == "GET": return true
        case .none where options.method == "HEAD": set(CURLOPT_NOBODY, 1)
        case .none: set(CURLOPT_CUSTOMREQUEST, options.method)
        case .bytes(let bytes):
            set(CURLOPT_POST, 1)
            if options.method != "POST" { set(CURLOPT_CUSTOMREQUEST, options.method) }
            unsafe ccurl_set_offset(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            given.hasPostFields = true
            return copyPostFields(bytes) == CURLE_OK
        case .stream(let length):
            set(CURLOPT_UPLOAD, 1)
            set(CURLOPT_CUSTOMREQUEST, options.method)
            unsafe ccurl_set_offset(curl, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1))
            setUploadBuffer(length, mayBeHTTP2: options.mayBeHTTP2)
            if options.hasTrailers { setTrailers() }
        }
        given.isPristine = false
        return true
    }

    private func setUploadBuffer(_ length: Int64?, mayBeHTTP2: Bool) {
        let size = UploadBufferSize.bytes(
            length: length, mayBeHTTP2: mayBeHTTP2, sendsHTTP2Safely: UploadBufferSize.sendsHTTP2Safely)
        set(CURLOPT_UPLOAD_BUFFERSIZE, size)
    }

    /// Records the peer of the connection that the transfer uses. The text is made only if it differs from the last one.
    func notePeer(_ address: UnsafePointer<CChar>?, port: Int32) {
        guard let address = unsafe address else { return peer = nil }
        guard peer?.port != Int(port) || (unsafe strcmp(address, peerBytes) != 0) else { return }
        let text = unsafe String(cString: address)
        peerBytes = Array(text.utf8CString)
        peer = Peer(address: text, port: Int(port))
    }

    /// Sets the size of the upload buffer when the connection is ready and nothing was sent yet.
    func isConnected(for options: TransferOptions) {
        watchTunnel(false)
        guard case .stream(let length) = options.body, options.url.isSecure,
            !UploadBufferSize.sendsHTTP2Safely, hasCertainlyNoStreams
        else { return }
        setUploadBuffer(length, mayBeHTTP2: false)
    }

    private func copyPostFields(_ bytes: [UInt8]) -> CURLcode {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else {
                return unsafe ccurl_set_string(curl, CURLOPT_COPYPOSTFIELDS, "")
            }
            return unsafe ccurl_set_pointer(curl, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
        }
    }

    private func setVersion(_ version: TransferOptions.Version) -> Bool {
        let features = LibcurlFeatures.current
        // CURLOPT_PIPEWAIT is not set: libcurl would pass all requests that wait for a connection to it at once, before the server's limit
        // of streams is known. The framework sends one request first instead, and the ``StreamGate`` paces the others.
        let value: Int
        switch version {
        case .http2OverTLS, .http2Only: return true
        case .http1: value = CURL_HTTP_VERSION_1_1
        case .http2PriorKnowledge:
            value = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
            if !features.canReusePriorKnowledge {
                // The connection is shut down after the transfer. libcurl itself must not close the connection, because its option for that
                // has another meaning.
                set(CURLOPT_FRESH_CONNECT, 1)
            }
        case .http3WithFallback, .http3Only: value = CURL_HTTP_VERSION_3ONLY
        }
        return unsafe ccurl_set_long(curl, CURLOPT_HTTP_VERSION, value) == CURLE_OK
    }

    /// Turns on libcurl's log for the transfer, because only the log shows whether a server has refused a stream.
    func tellWhatHappens() {
        guard !given.tellsWhatHappens else { return }
        given.tellsWhatHappens = true
        readLog(true)
    }

    /// Closes the connection when the transfer ends.
    func closeAfterwards() {
        set(CURLOPT_FORBID_REUSE, 1)
        given.isPristine = false
    }

    /// Leaves a body unfinished that a response with a status from 300 on has made unnecessary. The transfer must then be ended.
    func keepSending() {
        set(CURLOPT_KEEP_SENDING_ON_ERROR, 1)
        given.isPristine = false
    }

    /// Delivers the undecoded bytes of the body to the transfer, as they are on the wire.
    func watchRawBody() {
        readLog(true)
        given.isPristine = false
    }

    /// Turns libcurl's log on or off for the transfer. With the log, libcurl reads every body to the end of its stream, even if the length
    /// of the body is known, because trailers may follow.
    func watchStream(_ isWatched: Bool) {
        guard isWatched != given.watchesStream else { return }
        given.watchesStream = isWatched
        set(CURLOPT_IGNORE_CONTENT_LENGTH, isWatched ? 1 : 0)
        readLog(isWatched)
    }

    func readLog(_ isRead: Bool) {
        unsafe ccurl_set_debug_function(curl, Callbacks.log)
        unsafe set(CURLOPT_DEBUGDATA, Unmanaged.passUnretained(self).toOpaque())
        set(CURLOPT_VERBOSE, isRead ? 1 : 0)
    }

    // MARK: Common options

    func setCommonOptions() {
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        set(CURLOPT_NOSIGNAL, 1)
        // Without this option the end of a transfer can wait for a resolver thread.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        given.receiveBufferSize = 16 << 10
        given.forbidsResumption = false
        given.keepsAddresses = false
        scope = 0
        if !UploadBufferSize.sendsHTTP2Safely { set(CURLOPT_UPLOAD_BUFFERSIZE, UploadBufferSize.smallest) }
        set(CURLOPT_MAXAGE_CONN, max(configuration.idleLifetimeSeconds, 1))
        set(CURLOPT_MAXLIFETIME_CONN, configuration.maximumLifetimeSeconds)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        forgetHeaders()
        unsafe set(CURLOPT_ERRORBUFFER, errorBuffer)
        unsafe set(CURLOPT_SHARE, shares.common ?? shares.own)
        unsafe ccurl_set_data_function(curl, CURLOPT_WRITEFUNCTION, Callbacks.body)
        unsafe set(CURLOPT_WRITEDATA, this)
        unsafe headTarget.pointee.other = Callbacks.header
        unsafe headTarget.pointee.context = this
        unsafe ccurl_set_data_function(curl, CURLOPT_HEADERFUNCTION, ccurl_head_receive)
        unsafe set(CURLOPT_HEADERDATA, headTarget)
        unsafe ccurl_set_data_function(curl, CURLOPT_READFUNCTION, Callbacks.read)
        unsafe set(CURLOPT_READDATA, this)
        unsafe ccurl_set_seek_function(curl, Callbacks.seek)
        unsafe ccurl_set_prereq_function(curl, Callbacks.connected)
        unsafe set(CURLOPT_PREREQDATA, this)
        unsafe ccurl_set_opensocket_function(curl, Callbacks.openSocket)
        unsafe set(CURLOPT_OPENSOCKETDATA, this)
        unsafe ccurl_set_closesocket_function(curl, Callbacks.closeSocket)
        unsafe set(CURLOPT_CLOSESOCKETDATA, context)
        unsafe set(CURLOPT_PRIVATE, this)
    }

    /// Records the route of handshakes, whose options are set.
    func set(to route: TransferRoute) { self.route = route }

    // If libcurl refuses one of these options, it lacks the feature. Code that depends on the feature checks for it first.
    func set(_ option: CURLoption, _ value: Int) { _ = unsafe ccurl_set_long(curl, option, value) }
    func set(_ option: CURLoption, _ value: String?) { _ = unsafe ccurl_set_string(curl, option, value) }
    private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        _ = unsafe ccurl_set_pointer(curl, option, value)
    }

    // MARK: Information from libcurl

    /// Returns the measurements of the current transfer.
    func report(of transfer: Transfer) -> TransferReport {
        unsafe TransferReport(transfer, curl, peer: transfer.attempts > 0 ? peer : nil)
    }
}

/// The fields after a body, and the addresses that libcurl keeps.
extension EasyHandle {
    /// Makes libcurl ask for the fields after a chunked body when the body has ended.
    func setTrailers() {
        _ = unsafe ccurl_set_trailer_function(curl, Callbacks.trailers)
        _ = unsafe ccurl_set_pointer(curl, CURLOPT_TRAILERDATA, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Leaves old entries in libcurl's cache of addresses when the transfer ends, or not.
    ///
    /// At the end of each transfer libcurl searches the complete cache, which all engines of the session share, for entries that are older
    /// than this option allows. A transfer that has used an existing connection has added no entry, and needs no such search: transfers
    /// that add entries make it. The option is changed when the response has begun, because it would also allow old addresses for a new
    /// connection, which libcurl makes until then if the existing one turns out to be dead.
    func keepAddresses(_ areKept: Bool) {
        guard given.keepsAddresses != areKept else { return }
        given.keepsAddresses = areKept
        // 60 seconds are libcurl's default, which ``LookupGate/knownAge`` relies on.
        set(CURLOPT_DNS_CACHE_TIMEOUT, areKept ? -1 : 60)
    }
}
