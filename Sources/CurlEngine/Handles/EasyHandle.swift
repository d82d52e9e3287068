import CCurl

/// The owner of one `CURL *`, for the handshakes of one connection or for one request over HTTP/3. It belongs to the engine thread.
@safe
final class EasyHandle {
    let curl: UnsafeMutableRawPointer
    /// The transfer that uses the handle now.
    var transfer: Transfer?
    /// The request over HTTP/3, while libcurl has the handle for one.
    var exchange: HTTP3Exchange?
    /// The socket that the engine has connected for the handshakes; -1 if libcurl has it already.
    var socket: Int32 = -1
    /// The index of the handle in the list of its multi handle; -1 if it is not there.
    var runningIndex = -1
    private let errorBuffer: UnsafeMutablePointer<CChar>
    /// The system's error of the last socket that could not be created for the request over HTTP/3; 0 if there was none.
    var socketError: Int32 = 0
    var lists = OptionLists()
    let configuration: EngineConfiguration
    /// The share handle, if any.
    private let share: UnsafeMutableRawPointer?
    /// The route of handshakes, whose options are set.
    var route: TransferRoute?
    /// The name that stands for a host, and that host, if libcurl gets another name than the URL has.
    var alias: (name: String, host: String)?
    /// The record of the last TLS handshake; `nil` if there was none.
    var handshake: TLSRecord?
    /// Whether the TLS session with an `https` proxy was set up on the connection that is being made.
    var isProxySecured = false
    /// Whether libcurl's log is on until the tunnel through the proxy is open.
    private(set) var watchesTunnel = false

    init?(configuration: EngineConfiguration, share: UnsafeMutableRawPointer?) {
        guard let curl = unsafe curl_easy_init() else { return nil }
        unsafe self.curl = curl
        unsafe self.share = share
        self.configuration = configuration
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(curl)
        lists.free()
        unsafe errorBuffer.deallocate()
    }

    // MARK: Options

    /// Sets the options that handshakes and requests over HTTP/3 have in common.
    func setCommonOptions(for transfer: Transfer) {
        self.transfer = transfer
        let options = transfer.options
        if options.forbidsResumption { set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
        if options.mayConnectForLong { set(CURLOPT_CONNECTTIMEOUT_MS, Int(Int32.max)) }
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        set(CURLOPT_NOSIGNAL, 1)
        // Without this option the end of a transfer can wait for a resolver thread.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_MAXAGE_CONN, max(configuration.idleLifetimeSeconds, 1))
        set(CURLOPT_MAXLIFETIME_CONN, configuration.maximumLifetimeSeconds)
        unsafe set(CURLOPT_ERRORBUFFER, errorBuffer)
        unsafe set(CURLOPT_SHARE, share)
        unsafe ccurl_set_prereq_function(curl, Callbacks.connected)
        unsafe set(CURLOPT_PREREQDATA, this)
        unsafe set(CURLOPT_OPENSOCKETDATA, this)
        unsafe set(CURLOPT_PRIVATE, this)
    }

    /// Turns libcurl's log on or off, in order to count the requests for a tunnel: libcurl asks a proxy with Digest authentication for a
    /// tunnel again as long as the proxy says that the proof is too old.
    func watchTunnel(_ isWatched: Bool) {
        guard isWatched != watchesTunnel else { return }
        watchesTunnel = isWatched
        unsafe ccurl_set_debug_function(curl, Callbacks.log)
        unsafe set(CURLOPT_DEBUGDATA, Unmanaged.passUnretained(self).toOpaque())
        set(CURLOPT_VERBOSE, isWatched ? 1 : 0)
    }

    // If libcurl refuses one of these options, it lacks the feature. Code that depends on the feature checks for it first.
    func set(_ option: CURLoption, _ value: Int) { _ = unsafe ccurl_set_long(curl, option, value) }
    func set(_ option: CURLoption, _ value: String?) { _ = unsafe ccurl_set_string(curl, option, value) }
    private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        _ = unsafe ccurl_set_pointer(curl, option, value)
    }

    // MARK: Information

    /// libcurl's text for the failure; empty if it has none.
    var words: String { unsafe String(cString: errorBuffer) }

    /// Returns the failure of the current transfer for libcurl's result.
    func failure(_ code: CURLcode, isSent: Bool) -> EngineFailure {
        var detail = words
        if let alias { detail = detail.replacingName(alias.name, with: alias.host) }
        var failure = EngineFailure(code, detail: detail)
        if failure.kind == .connect, socketError != 0 { failure = failure.withoutSocket(socketError) }
        if failure.kind == .connect, let socket = route?.parts.socket {
            failure = unsafe failure.to(socket, Int32(clamping: ccurl_get_long(curl, CURLINFO_OS_ERRNO)))
        }
        if failure.kind == .source, let name = transfer?.options.route.parts.interface { failure = failure.from(name) }
        if let handshake {
            failure = handshake.explained(failure)
            if failure.isOfTLSPeer { return failure }
        }
        guard let proxy = route?.proxy else { return failure }
        let isConnectedBefore = transfer?.wire.tls != nil && route?.isConnectedByEngine == true
        let outcome = unsafe ProxyOutcome(
            connectStatus: ccurl_get_long(curl, CURLINFO_HTTP_CONNECTCODE),
            isConnected: isConnectedBefore || ccurl_get_offset(curl, CURLINFO_CONNECT_TIME_T) > 0,
            isSecured: proxy.scheme != .https && ccurl_get_offset(curl, CURLINFO_APPCONNECT_TIME_T) > 0,
            socksError: ccurl_get_long(curl, CURLINFO_PROXY_ERROR))
        return outcome.failure(failure, isSent: isSent, proxy: proxy) ?? failure
    }
}

extension HeaderLines {
    /// Returns the lines as libcurl's list, in one block of memory.
    func packed() -> UnsafeMutablePointer<curl_slist>? {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            return unsafe ccurl_list_pack(start, bytes.count, count)
        }
    }
}

extension String {
    /// Returns the text with a host instead of the name that stands for it. Newer versions of libcurl name both.
    fileprivate func replacingName(_ name: String, with host: String) -> String {
        var (result, rest) = ("", self[...])
        while let range = rest.utf8.firstRange(of: name.utf8) {
            var start = range.lowerBound, end = range.upperBound
            if let via = rest[..<start].utf8.index(start, offsetBy: -5, limitedBy: rest.startIndex),
                rest[via..<start] == " via "
            {
                start = via
                if rest[end...].utf8.first == UInt8(ascii: ":") {
                    end = rest.utf8.index(after: end)
                    while let digit = rest[end...].utf8.first, digit >= 0x30, digit <= 0x39 {
                        end = rest.utf8.index(after: end)
                    }
                }
                result += rest[..<start]
            } else {
                result += rest[..<start] + host
            }
            rest = rest[end...]
        }
        return result + rest
    }
}
