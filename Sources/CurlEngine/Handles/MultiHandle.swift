import CCurl

/// The owner of one `CURLM *` with its sockets, timer and pool of easy handles. It belongs to the engine thread.
@safe
final class MultiHandle {
    private let multi: UnsafeMutableRawPointer
    private let shares: ShareHandles
    private let defaultHeaderList: UnsafeMutablePointer<curl_slist>?
    private let configuration: EngineConfiguration
    // Exclusivity is unchecked: only the engine thread uses these values, and libcurl's callbacks never access one of them twice at a time.
    /// The easy handles without a transfer, kept for the next transfers.
    @exclusivity(unchecked) private var idleHandles: [EasyHandle] = []
    /// The easy handles whose transfers are in libcurl.
    @exclusivity(unchecked) private var running: [EasyHandle] = []
    /// The sockets, with libcurl's interest in them.
    @exclusivity(unchecked) var sockets = SocketTable()
    /// The addresses of routes that are in libcurl's cache.
    private var loadedAddresses = LoadedAddresses()
    /// The instant by which libcurl must be called; `nil` if there is no limit.
    private(set) var deadline: EngineInstant?
    /// The watch that ends calls that a server keeps busy.
    let watch = CallWatch()

    /// The socket on which the kernel notifies of lost addresses and links; `nil` if connections do not follow the network, or if the
    /// system permits no such socket.
    let addressChanges: RouteSocket?
    /// The links of whose loss the kernel has notified the engine.
    var lostLinks = LostLinks()

    init?(configuration: EngineConfiguration) {
        _ = LibcurlGlobals.shared
        guard let multi = unsafe curl_multi_init() else { return nil }
        unsafe self.multi = multi
        unsafe shares = ShareHandles(
            own: LibcurlFeatures.current.sharesTLSSessions ? nil : ccurl_share_tls_sessions(),
            common: configuration.lookups.shared.shareHandle)
        self.configuration = configuration
        addressChanges = configuration.followsNetworkChanges ? RouteSocket(.addresses) : nil
        unsafe defaultHeaderList = configuration.defaultHeaderLines.packed()
        // The object is complete, so `deinit` releases what it has.
        guard unsafe defaultHeaderList != nil || configuration.defaultHeaderLines.count == 0 else { return nil }
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe ccurl_multi_set_socket_function(multi, Callbacks.socket, this)
        unsafe ccurl_multi_set_timer_function(multi, Callbacks.timer, this)
        set(CURLMOPT_MAXCONNECTS, configuration.maximumConnections)
        set(CURLMOPT_PIPELINING, LibcurlFeatures.current.canMultiplex ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING)
        if LibcurlFeatures.current.canMultiplex {
            // The limit is a safeguard: the framework itself applies the limit per origin, separately for each set of protocols.
            set(CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnections)
        }
        // Newer versions support the option; older ones refuse it.
        set(ccurl_multi_quick_exit, 1)
        // These versions use two threads per name, one for each kind of address.
        set(ccurl_multi_resolve_threads, 2 * configuration.lookups.maximum)
        unsafe sockets.observed = ObservedConnections(configuration.connectionObserver)
        if let addressChanges { unsafe sockets.want(addressChanges.descriptor, .read, for: nil) }
        Watchdog.shared.add(watch)
    }

    /// Stops watching for lost addresses and links.
    func ignoreAddressChanges() {
        if let addressChanges { unsafe sockets.want(addressChanges.descriptor, [], for: nil) }
    }

    /// Makes libcurl use none of its present connections for further requests, as soon as it supports that (8.16).
    ///
    /// libcurl forgets the addresses of names as well, also those that it was given: until 8.19 the two options are one bit, and from 8.20
    /// on the value 1 means everything.
    func leaveConnections() {
        set(ccurl_multi_network_changed, ccurl_clear_connections)
        loadedAddresses = LoadedAddresses()
    }

    /// Whether the pool has room for connections that the engine has closed.
    private var hasRoomForClosed = false

    /// Makes room in libcurl's pool for connections that the engine has closed. libcurl counts them until it looks at them, and would close
    /// open ones in their place.
    func makeRoomForClosedConnections() {
        guard !hasRoomForClosed else { return }
        hasRoomForClosed = true
        set(CURLMOPT_MAXCONNECTS, 2 * min(configuration.maximumConnections, Int(Int32.max) / 2))
    }

    deinit {
        watch.begin()
        // libcurl requires this order: the transfers are removed, then the multi handle closes its connections, and then the share handle
        // is released.
        for easy in unsafe running {
            unsafe curl_multi_remove_handle(multi, easy.curl)
            // The handle and the transfer refer to each other.
            easy.transfer?.abandon()
            easy.transfer = nil
        }
        unsafe curl_multi_cleanup(multi)
        unsafe running = []
        unsafe idleHandles = []
        unsafe ccurl_free(defaultHeaderList)
        if let share = unsafe shares.own { unsafe curl_share_cleanup(share) }
        _ = watch.end()
        Watchdog.shared.remove(watch)
    }

    private func set(_ option: CURLMoption, _ value: Int) { _ = unsafe ccurl_multi_set_long(multi, option, value) }

    var runningCount: Int { unsafe running.count }

    // MARK: Transfers

    /// Passes a transfer to libcurl. Returns the failure if libcurl refuses the transfer.
    func add(_ transfer: Transfer) -> EngineFailure? {
        if let failure = configuration.refusal(of: transfer.options) { return failure }
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard
            let easy = unsafe idleHandles.popLast()
                ?? EasyHandle(
                    configuration: configuration, defaultHeaderList: defaultHeaderList, context: this, shares: shares)
        else { return .outOfMemory }
        guard easy.prepare(for: transfer, adding: missingAddresses(transfer)) else {
            easy.finish()
            loadedAddresses = LoadedAddresses()
            return EngineFailure(kind: .unsupported, message: "an option of the request")
        }
        easy.makeOwnConnection(for: transfer)
        transfer.easy = easy
        let code = inside { unsafe curl_multi_add_handle(multi, easy.curl) }
        guard code == CURLM_OK else {
            transfer.easy = nil
            easy.finish()
            return EngineFailure(kind: .internalError, message: "refused the transfer with code \(code.rawValue)")
        }
        easy.runningIndex = unsafe running.count
        unsafe running.append(easy)
        if transfer.repetition.descriptor == .ofIdleConnection { replaceIdleConnection() }
        return nil
    }

    /// Whether the next connection replaces an idle one.
    private var replacesIdleConnection = false

    /// Makes libcurl close its oldest idle connection before it opens the next one, in its next call.
    private func replaceIdleConnection() {
        replacesIdleConnection = true
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, unsafe max(sockets.openCount, 1))
    }

    /// Returns the addresses of a transfer's route that are not in libcurl's cache, if any.
    private func missingAddresses(_ transfer: Transfer) -> HeaderLines? {
        let options = transfer.options
        guard options.route.hasOwnAddresses else { return nil }
        return loadedAddresses.lines(for: RouteNames(options.route).entries(for: options.url))
    }

    /// Removes a transfer from libcurl. Unless the transfer has ended, its connection or stream is closed.
    ///
    /// - Parameter hasFailed: Whether libcurl reported a failure. The handle is not reused then, because libcurl never resets
    ///   some of the state that remains after a failure and after its attempts to avoid one.
    func remove(_ transfer: Transfer, hasFailed: Bool) {
        guard let easy = transfer.easy else { return }
        inside { _ = unsafe curl_multi_remove_handle(multi, easy.curl) }
        let last = unsafe running.removeLast()
        if last !== easy {
            unsafe running[easy.runningIndex] = last
            last.runningIndex = easy.runningIndex
        }
        transfer.easy = nil
        easy.finish()
        guard !hasFailed, !transfer.mayHaveBeenRepeated, unsafe idleHandles.count < Self.maximumIdleHandles else {
            return
        }
        unsafe idleHandles.append(easy)
    }

    private static let maximumIdleHandles = 256

    /// The easy handles without a transfer.
    var unusedHandles: [EasyHandle] { unsafe idleHandles }

    /// Passes the paused directions of a transfer to libcurl.
    func applyPause(_ transfer: Transfer) {
        guard let easy = transfer.easy, transfer.pauses.applied != transfer.wantedPause else { return }
        transfer.pauses.applied = transfer.wantedPause
        // Code 43 means that there is no connection yet. The pause is then applied at the first bytes.
        inside { _ = unsafe curl_easy_pause(easy.curl, transfer.wantedPause) }
    }

    // MARK: Turns

    /// Runs libcurl for a ready socket, or for its timer if `ready` is `nil`.
    func act(on ready: ReadySocket?) {
        if let ready {
            let bits = Int32(ready.interest.rawValue) | (ready.hasFailed ? CURL_CSELECT_ERR : 0)
            action(ready.descriptor, bits)
        } else {
            deadline = nil
            action(CURL_SOCKET_TIMEOUT, 0)
            // libcurl does not call the timer callback if its next expiry is the one that it named before.
            if deadline == nil { askForTimer() }
        }
    }

    /// Whether the end of a body was sent since libcurl was last asked for finished transfers. libcurl may have read the response
    /// with that, and names no deadline for a transfer that it has finished.
    private(set) var hasSentEnd = false

    /// Makes libcurl send the end of a body, and the last piece in front of that end, before it reads from the connection.
    func sendEnd(of transfer: Transfer) {
        guard let socket = transfer.easy?.socket, socket >= 0 else { return }
        hasSentEnd = true
        for _ in 0..<2 where transfer.mustSendEndFirst { action(socket, CURL_CSELECT_OUT) }
        // The end of a pause makes libcurl look for bytes that it has read off the socket already; these actions have replaced that.
        if transfer.pauses.applied & 1 == 0 { action(socket, CURL_CSELECT_IN | CURL_CSELECT_OUT) }
    }

    private func action(_ descriptor: Int32, _ bits: Int32) {
        var count: Int32 = 0
        inside { _ = unsafe curl_multi_socket_action(multi, descriptor, bits, &count) }
        guard replacesIdleConnection else { return }
        replacesIdleConnection = false
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, 0)
    }

    /// Makes libcurl check HTTP/2 connections that may be dead. Returns whether any running request may use HTTP/2.
    ///
    /// On a connection on which libcurl has sent GOAWAY, because the server violated the protocol, libcurl does not end the requests before
    /// data arrives or the server closes the connection.
    func lookAtConnections(since instant: EngineInstant) -> Bool {
        let requests = unsafe running.compactMap(\.transfer).filter { $0.attempts > 0 && $0.options.mayBeHTTP2 }
        let sockets = requests.filter { $0.mayBeDead(since: instant) }.compactMap { $0.easy?.findSocket() }
        for socket in Set(sockets) where socket >= 0 { action(socket, CURL_CSELECT_IN) }
        return !requests.isEmpty
    }

    /// Makes libcurl read the connections with these local ports, if they have streams. Returns whether there were any.
    ///
    /// When a server refuses a stream, libcurl 8.23 may have read data of other streams from the system, and has no further look at the
    /// connection unless more data arrives.
    func readConnections(_ ports: Set<Int32>) -> Bool {
        guard !ports.isEmpty else { return false }
        let users = unsafe running.filter { easy in
            easy.transfer.map { $0.place.use == .streaming && ports.contains($0.place.port) } ?? false
        }
        let sockets = Set(users.map { $0.findSocket() }).filter { $0 >= 0 }
        for socket in sockets { action(socket, CURL_CSELECT_IN) }
        return !sockets.isEmpty
    }

    private func askForTimer() {
        var milliseconds = -1
        _ = unsafe curl_multi_timeout(multi, &milliseconds)
        setTimer(milliseconds)
    }

    /// Sets libcurl's deadline to a number of milliseconds from now. A negative number removes the deadline.
    func setTimer(_ milliseconds: Int) {
        deadline =
            milliseconds < 0
            ? nil
            : milliseconds == 0
                ? EngineInstant(nanoseconds: 0)
                : MonotonicClock.now().advanced(by: .milliseconds(milliseconds))
    }

    /// Returns the next transfer that has ended, with libcurl's result.
    func nextFinished() -> (Transfer, CURLcode)? {
        hasSentEnd = false
        var code = CURLE_OK
        while let curl = unsafe ccurl_multi_next_finished(multi, &code) {
            guard let context = unsafe ccurl_get_pointer(curl, CURLINFO_PRIVATE) else { continue }
            let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            if let transfer = easy.transfer { return (transfer, code) }
        }
        return nil
    }

    /// Runs `body`, which calls libcurl, as a call that the watchdog checks.
    func inside<Result>(_ body: () -> Result) -> Result {
        watch.begin()
        defer { if let cut = watch.end() { didCut(cut) } }
        return body()
    }

    /// Fails the transfers of a connection that the watchdog has shut down, because its server kept libcurl busy.
    private func didCut(_ cut: CallWatch.Cut) {
        for transfer in users(of: cut).compactMap(\.transfer) where transfer.failure == nil {
            transfer.failure = EngineFailure(kind: .flooded, message: "")
            transfer.engine.update(transfer)
        }
    }

    /// Returns the handles that use the connection, by its local port or else by its socket.
    private func users(of cut: CallWatch.Cut) -> [EasyHandle] {
        // libcurl has not named the socket of a reused connection that was taken in this same call.
        let senders = unsafe running.filter { cut.port > 0 && $0.transfer?.connection.localPort == cut.port }
        guard senders.isEmpty else { return senders }
        let users = unsafe running.filter { $0.socket == cut.socket }
        // The number of a socket that was closed since may already belong to another socket.
        let closed = users.filter { unsafe $0.socketGeneration != sockets.generation(of: cut.socket) }
        return closed.isEmpty ? users : closed
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
