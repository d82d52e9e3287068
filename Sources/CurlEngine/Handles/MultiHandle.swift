import CCurl

/// A multi handle of libcurl's, with the easy handles in it. It belongs to the engine thread. A subclass calls ``cleanUp()`` when it ends.
@safe
class MultiHandle {
    private let multi: UnsafeMutableRawPointer
    final let watch: CallWatch
    /// The handles in libcurl.
    private(set) final var handles: [EasyHandle] = []
    /// The instant by which libcurl must be called; `nil` if there is no limit.
    private(set) final var deadline: EngineInstant?

    init?(watch: CallWatch) {
        guard let multi = unsafe curl_multi_init() else { return nil }
        unsafe self.multi = multi
        self.watch = watch
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe ccurl_multi_set_socket_function(multi, Callbacks.socket, this)
        unsafe ccurl_multi_set_timer_function(multi, Callbacks.timer, this)
    }

    /// Removes all handles, and frees the multi handle.
    final func cleanUp() {
        watch.begin()
        for easy in handles { unsafe curl_multi_remove_handle(multi, easy.curl) }
        unsafe curl_multi_cleanup(multi)
        _ = watch.end()
    }

    final func set(_ option: CURLMoption, _ value: Int) { _ = unsafe ccurl_multi_set_long(multi, option, value) }

    /// Passes a prepared handle to libcurl. Returns the failure if libcurl refuses it.
    final func add(_ easy: EasyHandle) -> EngineFailure? {
        let code = inside { unsafe curl_multi_add_handle(multi, easy.curl) }
        guard code == CURLM_OK else {
            return EngineFailure(kind: .internalError, message: "refused the transfer with code \(code.rawValue)")
        }
        easy.runningIndex = handles.count
        handles.append(easy)
        return nil
    }

    /// Removes a handle. Returns whether libcurl had it.
    @discardableResult
    final func remove(_ easy: EasyHandle) -> Bool {
        guard easy.runningIndex >= 0 else { return false }
        inside { _ = unsafe curl_multi_remove_handle(multi, easy.curl) }
        let last = handles.removeLast()
        if last !== easy {
            handles[easy.runningIndex] = last
            last.runningIndex = easy.runningIndex
        }
        easy.runningIndex = -1
        return true
    }

    // MARK: Turns

    /// Runs libcurl if its deadline has come.
    final func act(ifDueAt now: EngineInstant) { if let deadline, deadline <= now { act(on: nil) } }

    /// Runs libcurl for a ready socket, or for its timer if `ready` is `nil`, and ends what it has finished.
    final func act(on ready: ReadySocket?) {
        var count: Int32 = 0
        if ready == nil { deadline = nil }
        let bits = ready.map { Int32($0.interest.rawValue) | ($0.hasFailed ? CURL_CSELECT_ERR : 0) } ?? 0
        inside {
            _ = unsafe curl_multi_socket_action(multi, ready?.descriptor ?? CURL_SOCKET_TIMEOUT, bits, &count)
        }
        // libcurl does not call the timer callback if its next expiry is the one that it named before.
        if ready == nil, deadline == nil {
            var milliseconds = -1
            _ = unsafe curl_multi_timeout(multi, &milliseconds)
            setTimer(milliseconds)
        }
        endFinished()
    }

    /// Ends what libcurl has finished.
    final func endFinished() {
        var code = CURLE_OK
        while let curl = unsafe ccurl_multi_next_finished(multi, &code) {
            guard let context = unsafe ccurl_get_pointer(curl, CURLINFO_PRIVATE) else { continue }
            didEnd(unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue(), code)
        }
    }

    fileprivate final func setTimer(_ milliseconds: Int) {
        deadline =
            milliseconds <= 0
            ? milliseconds < 0 ? nil : EngineInstant(nanoseconds: 0)
            : MonotonicClock.now().advanced(by: .milliseconds(milliseconds))
    }

    /// Runs `body`, which calls libcurl or OpenSSL, as a call that the watchdog checks.
    final func inside<Result>(_ body: () -> Result) -> Result {
        watch.begin()
        defer { if let socket = watch.end() { didCut(socket) } }
        return body()
    }

    // MARK: Events

    /// Sets libcurl's interest in a socket.
    func want(_ socket: Int32, _ interest: SocketInterest) {}
    /// Handles the result of a handle.
    func didEnd(_ easy: EasyHandle, _ code: CURLcode) {}
    /// Handles a socket that the watchdog has shut down.
    func didCut(_ socket: Int32) {}
}

extension Callbacks {
    fileprivate static let socket: ccurl_socket_callback = { _, descriptor, what, context, _ in
        guard let context = unsafe context else { return 0 }
        let interest = what == CURL_POLL_REMOVE ? [] : SocketInterest(rawValue: UInt32(what & 3))
        unsafe Unmanaged<MultiHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.want(descriptor, interest) }
        return 0
    }

    fileprivate static let timer: ccurl_timer_callback = { _, milliseconds, context in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<MultiHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.setTimer(milliseconds) }
        return 0
    }
}
