import CCurl
private import Glibc

/// The request of a transfer over HTTP/3, which libcurl sends, and its response. It belongs to the engine thread.
@safe
final class HTTP3Exchange {
    let transfer: Transfer
    let easy: EasyHandle
    unowned let group: HTTP3Group
    /// The socket of the connection, from the instant at which the request is sent, and its generation.
    var socket: (number: Int32, generation: UInt32)?
    /// The head of the response.
    private var head: HTTP3Head
    /// The last socket that was opened for the request since it was last about to be sent; -1 if there is none.
    private var opened: Int32 = -1
    /// Whether a socket was opened for the request.
    private(set) var hasOpenedSocket = false
    /// The peer of the connection.
    private(set) var peer: Peer?
    /// The addresses to which libcurl may connect.
    let addresses: [IPAddress]
    /// The microseconds from the transfer's start until libcurl gets the request, such as for the lookup of the name.
    let delay: Int64
    /// The pauses that were last passed to libcurl.
    private var pauses: Int32 = 0
    /// Whether the request starts again, from the beginning.
    private var mustStartAgain = false

    init(_ transfer: Transfer, at addresses: [IPAddress], in group: HTTP3Group, _ easy: EasyHandle) {
        self.transfer = transfer
        self.addresses = addresses
        delay = MonotonicClock.now().nanoseconds(since: EngineInstant(nanoseconds: transfer.wire.start)) / 1000
        self.group = group
        self.easy = easy
        head = HTTP3Head(limit: transfer.options.maximumHeaderBytes)
    }

    private var engine: CurlEngine { transfer.engine }

    // MARK: Options

    /// Sets the options of the request. Returns `false` if libcurl refuses one of them.
    func prepare() -> Bool {
        let options = transfer.options
        easy.setCommonOptions(for: transfer)
        setCallbacks()
        easy.set(CURLOPT_BUFFERSIZE, options.receiveBufferSize)
        // Requests that begin together wait for the first connection.
        easy.set(CURLOPT_PIPEWAIT, 1)
        // libcurl gets the addresses once, and may need them for another connection when the request has waited.
        easy.set(CURLOPT_DNS_CACHE_TIMEOUT, 86_400)
        let lines = options.lines(orDefault: engine.configuration.defaultHeaderLines)
        unsafe easy.lists.headers = lines.packed()
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_HTTPHEADER, easy.lists.headers)
        guard easy.apply(options.trust), unsafe easy.lists.headers != nil || lines.count == 0,
            unsafe ccurl_set_url(easy.curl, options.url.handle) == CURLE_OK,
            unsafe ccurl_set_long(easy.curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_3ONLY) == CURLE_OK
        else { return false }
        if let target = options.url.target {
            let isOfServer = target == URLText.serverTarget && options.method != "OPTIONS"
            easy.set(CURLOPT_REQUEST_TARGET, isOfServer ? "/" : target)
        }
        return setMethod(options) && setRoute(options)
    }

    private func setCallbacks() {
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe ccurl_set_data_function(easy.curl, CURLOPT_HEADERFUNCTION, Callbacks.http3Header)
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_HEADERDATA, this)
        unsafe ccurl_set_data_function(easy.curl, CURLOPT_WRITEFUNCTION, Callbacks.http3Body)
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_WRITEDATA, this)
        unsafe ccurl_set_data_function(easy.curl, CURLOPT_READFUNCTION, Callbacks.http3Read)
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_READDATA, this)
        unsafe ccurl_set_seek_function(easy.curl, Callbacks.seek)
        unsafe ccurl_set_prereq_function(easy.curl, Callbacks.http3Connected)
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_PREREQDATA, this)
        unsafe ccurl_set_opensocket_function(easy.curl, Callbacks.openHTTP3Socket)
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_OPENSOCKETDATA, this)
        unsafe ccurl_set_closesocket_function(easy.curl, Callbacks.closeHTTP3Socket)
        unsafe ccurl_set_pointer(easy.curl, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(group).toOpaque())
    }

    private func setMethod(_ options: TransferOptions) -> Bool {
        switch options.body {
        case .none where options.method == "GET": break
        case .none where options.method == "HEAD": easy.set(CURLOPT_NOBODY, 1)
        case .none: easy.set(CURLOPT_CUSTOMREQUEST, options.method)
        case .bytes(let bytes):
            easy.set(CURLOPT_POST, 1)
            if options.method != "POST" { easy.set(CURLOPT_CUSTOMREQUEST, options.method) }
            unsafe ccurl_set_offset(easy.curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            // libcurl copies the body.
            return unsafe bytes.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return easy.accepts(CURLOPT_COPYPOSTFIELDS, "") }
                let body = unsafe UnsafeMutableRawPointer(mutating: start)
                return unsafe ccurl_set_pointer(easy.curl, CURLOPT_COPYPOSTFIELDS, body) == CURLE_OK
            }
        case .stream(let length):
            easy.set(CURLOPT_UPLOAD, 1)
            easy.set(CURLOPT_CUSTOMREQUEST, options.method)
            unsafe ccurl_set_offset(easy.curl, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1))
            easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Int(min(512 << 10, max(16 << 10, length ?? .max))))
        }
        return true
    }

    /// Sets the name that stands for the host, and its addresses.
    private func setRoute(_ options: TransferOptions) -> Bool {
        let port = options.route.target(of: options.url).port
        let interface = options.route.parts.interface.map { (IPAddress($0) == nil ? "if!" : "host!") + $0 }
        let name = group.hostName(of: options.pool)
        let list = addresses.map(\.bracketed).joined(separator: ",")
        easy.alias = (name, options.url.host)
        return easy.load(HeaderLines(lines: ["+\(name):\(port):\(list)"])) && easy.connect(to: "::\(name):\(port)")
            && easy.accepts(CURLOPT_NOPROXY, "") && easy.accepts(CURLOPT_PROXY, "")
            && easy.accepts(CURLOPT_INTERFACE, interface)
    }

    // MARK: The connection

    /// Opens a socket for the request. Returns it, or -1 if there is none.
    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let peer = unsafe peer(of: address)
        guard !transfer.isCancelled, transfer.failure == nil, !mustStartAgain, isPermitted(peer?.address), mayConnect()
        else { return -1 }
        if !hasOpenedSocket { engine.makeRoomForConnection(for: transfer) }
        hasOpenedSocket = true
        transfer.reportConnection(to: peer.map { "\($0.address.bracketed):\($0.port)" } ?? "")
        opened = unsafe ccurl_socket_open(address, engine.configuration.sendingLimitMilliseconds)
        if opened < 0 { easy.socketError = errno } else { group.didOpen(opened, for: self) }
        return opened
    }

    private func peer(of address: UnsafeMutablePointer<curl_sockaddr>) -> (address: IPAddress, port: UInt16)? {
        var bytes = [UInt8](repeating: 0, count: 16), port: UInt16 = 0
        let count = unsafe ccurl_address_read(address, &bytes, &port)
        return IPAddress(bytes: Array(bytes.prefix(count))).map { ($0, port) }
    }

    /// Returns whether a connection may be made to an address. libcurl may have forgotten the addresses that were permitted, and have
    /// looked up the name that stands for the host.
    private func isPermitted(_ address: IPAddress?) -> Bool {
        guard let egress = engine.configuration.egress else { return true }
        guard let address else { return false }
        guard let network = egress.denial(of: address) else { return true }
        transfer.failure = EngineFailure(kind: .egressRefused(address, network), message: "")
        return false
    }

    /// Returns whether a connection may be made. In a race with TCP, only a probe makes it, while the request can still go over TCP.
    private func mayConnect() -> Bool {
        if transfer.options.version == .http3WithFallback {
            engine.http3Races.forget(transfer)
            if mayBeSent() { mustStartAgain = true }
            return false
        }
        guard transfer.options.mayConnect else {
            transfer.failure = EngineFailure(kind: transfer.attempts > 0 ? .replayRefused : .connectLimit, message: "")
            return false
        }
        return mayBeSent()
    }

    /// Returns whether the request may be sent: for the first time, or again, because its connection was lost before the response.
    private func mayBeSent() -> Bool {
        if transfer.attempts == 0 { return true }
        if head.isFinal {
            transfer.failure = EngineFailure(kind: .receive, message: "the connection was lost during the response")
        } else if !transfer.options.mayBeReplayed {
            transfer.failure = EngineFailure(kind: .replayRefused, message: "")
        } else if transfer.sending.hasBegun {
            let text = EngineFailure.lossText(easy.words)
            transfer.failure = EngineFailure(kind: .bodyNotReplayable, message: text)
        } else {
            return true
        }
        return false
    }

    /// Prepares the transfer when the request is about to be sent. Returns libcurl's code to continue or to abort.
    fileprivate func isConnected(to peer: Peer?, from port: Int32) -> Int32 {
        self.peer = peer
        easy.handshake?.isComplete = true
        let isNew = opened >= 0
        opened = -1
        group.begin(self, on: group.socket(from: port), isNew: isNew)
        guard !transfer.isCancelled, transfer.failure == nil else { return CURL_PREREQFUNC_ABORT }
        (transfer.connection.localPort, transfer.connection.hadStreams) = (port, true)
        if transfer.connection.http3.isProbe {
            transfer.connection.http3.isConnected = true
            return CURL_PREREQFUNC_ABORT
        }
        if transfer.options.readsCertificates, unsafe ccurl_tls_is_resumed(ccurl_tls_session(easy.curl)), !isNew,
            transfer.attempts == 0, transfer.repetition.restarts < Self.maximumRestarts
        {
            // A resumed session has no verified chain. Other requests stay on its connection.
            group.leaveConnections(of: transfer.options.pool)
            mustStartAgain = true
            return CURL_PREREQFUNC_ABORT
        }
        guard mayBeSent() else { return CURL_PREREQFUNC_ABORT }
        transfer.attempts += 1
        if transfer.options.readsCertificates {
            let chain = unsafe CertificateChain(of: easy.tlsSession, verifies: transfer.options.trust.server.verifies)
            transfer.delegate?.transferDidReceiveCertificates(chain)
            // Nothing is sent to a server whose certificates the delegate does not accept, and nothing later.
            guard !transfer.isCancelled, transfer.failure == nil else {
                group.leaveConnections(of: transfer.options.pool)
                return CURL_PREREQFUNC_ABORT
            }
        }
        transfer.connection.tls = unsafe TLSResult(of: easy.tlsSession).map(Boxed.init)
        transfer.start = engine.now
        transfer.activity = (transfer.start, transfer.start)
        if wantedPauses != 0 {
            // libcurl has ignored pauses that were set before there was a connection.
            pauses = 0
            engine.update(transfer)
        }
        transfer.delegate?.transferIsConnected()
        return transfer.isCancelled ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK
    }

    private static let maximumRestarts = 3

    // MARK: Bytes

    /// Receives one header line. Any result other than the length of the line makes libcurl end the request.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        guard !transfer.isCancelled else { return 0 }
        transfer.activity.last = engine.now
        do throws(HeadFailure) {
            guard let head = unsafe try self.head.read(line) else { return line.count }
            if !hasHead {
                transfer.delegate?.transferDidReceiveInformational(head)
            } else {
                if self.head.hasContentCoding { transfer.receiving.codings = head.fields.contentCodings }
                if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
                transfer.delegate?.transferDidReceiveHead(head)
                finishIfWhole()
            }
        } catch {
            transfer.failure = EngineFailure(kind: .head(error), message: "")
            return 0
        }
        return transfer.isCancelled ? 0 : line.count
    }

    /// Receives bytes of the body. Any result other than their number or a pause makes libcurl end the request.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !transfer.isCancelled else { return 0 }
        transfer.activity.last = engine.now
        guard hasHead else {
            transfer.failure = EngineFailure(kind: .head(.cutShort), message: "")
            return 0
        }
        // libcurl stores these bytes until the reader has made room.
        if transfer.pauses.holdsBody {
            pauses |= 1
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        if transfer.receiving.count == 0, bytes.count > 0, !transfer.receiving.codings.isEmpty,
            !transfer.prepareDecoding()
        {
            return 0
        }
        transfer.receiving.count += Int64(bytes.count)
        if let decoder = transfer.receiving.decoder {
            guard unsafe transfer.decode(bytes.bytes, with: decoder) else { return 0 }
        } else {
            unsafe transfer.delegate?.transferDidReceiveBody(bytes.bytes)
        }
        finishIfWhole()
        return transfer.isCancelled ? 0 : bytes.count
    }

    /// Ends the request at the end of a response that came before the end of the request's body: libcurl would wait for the rest.
    private func finishIfWhole() {
        guard transfer.isUploadUnderWay else { return }
        let status = unsafe Int(ccurl_get_long(easy.curl, CURLINFO_RESPONSE_CODE))
        let hasNoBody = WireHead.hasNoBody(method: transfer.options.method, status: status)
        guard hasNoBody || head.contentLength.map({ $0 <= transfer.receiving.count }) == true else { return }
        transfer.receiving.mustFinishEarly = true
        engine.update(transfer)
    }

    /// Fills libcurl's buffer with bytes of the request body. Returns the number of bytes, or libcurl's code for a pause or an abort.
    fileprivate func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe transfer.fillUpload(buffer)
        if count == Int(CURL_READFUNC_PAUSE) { pauses |= 4 }
        return count
    }

    /// The pause bits for `curl_easy_pause`, which sets both directions at once.
    private var wantedPauses: Int32 {
        let pauses = transfer.pauses
        let holdsBody = pauses.isSuspended || (pauses.isReceivingPaused || pauses.isYielding) && hasHead
        return (holdsBody ? 1 : 0) | (pauses.isSendingPaused || transfer.isHeldBack ? 4 : 0)
    }

    /// Continues after changes of the transfer.
    func goOn() {
        if transfer.receiving.mustFinishEarly { return engine.wire.end(transfer, nil, trailers: trailers) }
        guard pauses != wantedPauses else { return }
        pauses = wantedPauses
        // Without a connection yet, the pause is applied at the first bytes. The end of a pause delivers the delayed bytes.
        group.pause(self, pauses)
        group.endFinished()
        if transfer.failure != nil, transfer.connection.http3.exchange === self { engine.wire.end(transfer, nil) }
    }

    // MARK: The end

    private var trailers: WireFields { head.trailers }

    /// Returns whether the head of the request and a number of bytes of its body were passed to the system.
    func hasSent(bodyBytes: Int64) -> Bool {
        unsafe ccurl_get_long(easy.curl, CURLINFO_REQUEST_SIZE) > 0
            && Int64(ccurl_get_offset(easy.curl, CURLINFO_SIZE_UPLOAD_T)) >= bodyBytes
    }

    /// Whether the request waits for a stream on a connection of others.
    var waitsForStream: Bool {
        transfer.attempts == 0 && !hasOpenedSocket && group.addresses(of: transfer.options.pool) != nil
    }

    /// Whether the head of the response is complete.
    var hasHead: Bool { head.isFinal }

    /// The number of bytes of the response's heads.
    var headBytes: Int { head.receivedBytes }

    /// Ends the request with libcurl's result.
    func didEnd(_ code: CURLcode) {
        if code != CURLE_OK, transfer.attempts == 0, transfer.failure == nil, !transfer.isCancelled,
            transfer.repetition.descriptor == .ofSystem, [EMFILE, ENFILE].contains(easy.socketError)
        {
            engine.wire.prepareToRestart(transfer, needsConnection: false)
            return engine.wire.startWithDescriptor(transfer)
        }
        if transfer.connection.http3.isProbe || transfer.failure != nil || transfer.isCancelled {
            return engine.wire.end(transfer, transfer.failure ?? failure(code))
        }
        if mustStartAgain { return engine.wire.restart(transfer, needsConnection: false) }
        // The server may refuse the rest of the request after the complete response (RFC 9114, section 4.1).
        if transfer.receiving.mustFinishEarly {
            return engine.wire.end(transfer, nil, trailers: trailers, keeps: code == CURLE_OK)
        }
        if code != CURLE_OK { return engine.wire.end(transfer, failure(code)) }
        guard hasHead else { return engine.wire.end(transfer, EngineFailure(kind: .head(.cutShort), message: "")) }
        engine.wire.end(transfer, nil, trailers: trailers, keeps: true)
    }

    /// Returns the failure with the kind that fits the progress of the request, because libcurl uses the same code for different failures.
    private func failure(_ code: CURLcode) -> EngineFailure {
        let failure = easy.failure(code, isSent: transfer.attempts > 0)
        return switch failure.kind {
        case .bodyCutShort where !hasHead: failure.as(.emptyReply)
        case .emptyReply where hasHead: failure.as(.bodyCutShort)
        case .send where transfer.attempts == 0, .receive where transfer.attempts == 0: failure.as(.connect)
        case .connect where transfer.attempts > 0, .nameResolution where transfer.attempts > 0,
            .tlsHandshake where transfer.attempts > 0:
            transfer.options.mayBeReplayed ? failure : failure.as(.replayRefused)
        case .outOfMemory where !hasHead, .tooLarge where !hasHead:
            failure.as(.head(.tooLarge(limit: transfer.options.maximumHeaderBytes)))
        default: failure
        }
    }
}

extension Callbacks {
    /// The callback for rewinding a body, which always fails: streams cannot be rewound, and libcurl itself stores bodies in memory.
    fileprivate static let seek: ccurl_seek_callback = { _, _, _ in CURL_SEEKFUNC_FAIL }

    fileprivate static let http3Header: ccurl_data_callback = { bytes, size, count, context in
        let length = size * count
        return unsafe exchange(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: length)) ?? 0
    }

    fileprivate static let http3Body: ccurl_data_callback = { bytes, size, count, context in
        let length = size * count
        return unsafe exchange(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: length)) ?? 0
    }

    fileprivate static let http3Read: ccurl_data_callback = { buffer, size, count, context in
        let length = size * count
        return unsafe exchange(context)?.fill(UnsafeMutableRawBufferPointer(start: buffer, count: length))
            ?? Int(CURL_READFUNC_ABORT)
    }

    fileprivate static let http3Connected: ccurl_prereq_callback = { context, address, _, peerPort, port in
        let peer = unsafe address.map { unsafe Peer(address: String(cString: $0), port: Int(peerPort)) }
        return unsafe exchange(context)?.isConnected(to: peer, from: port) ?? CURL_PREREQFUNC_ABORT
    }

    fileprivate static let openHTTP3Socket: ccurl_opensocket_callback = { context, _, address in
        guard let address = unsafe address, let exchange = unsafe exchange(context) else { return CURL_SOCKET_BAD }
        return unsafe exchange.openSocket(address)
    }

    private static func exchange(_ context: UnsafeMutableRawPointer?) -> HTTP3Exchange? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<HTTP3Exchange>.fromOpaque(context).takeUnretainedValue()
    }
}
