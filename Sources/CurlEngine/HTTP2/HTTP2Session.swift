import CCurl

/// One connection of HTTP/2 (RFC 9113) from the client's side, which knows no socket: received bytes in, events and bytes to be sent out.
///
/// The framing is nghttp2's, in the library that libcurl has loaded. A session belongs to the engine thread.
@safe
final class HTTP2Session {
    /// The settings of a session.
    struct Settings: Hashable, Sendable {
        /// The size to which the window of a stream grows if its reader keeps up.
        var largestWindow = 16 << 20
        /// The number of bytes that a server may send on all streams without an acknowledgement that they have arrived.
        var connectionWindow: Int32 = 16 << 20
        /// The limits on what the server does.
        var limits = HTTP2Limits.standard
        /// The times of the checks by PING.
        var keepalive = HTTP2Keepalive.Settings()
    }

    /// Whether libcurl has loaded an nghttp2 whose functions can be found, or the system has one.
    static var isAvailable: Bool { ccurl_http2_exists() }

    let settings: Settings
    private let defaults: HeaderLines
    unowned(unsafe) let delegate: any HTTP2SessionDelegate
    private(set) var connection: OpaquePointer
    // Exclusivity is unchecked: one thread uses these values, and no access to one of them calls code that uses it.
    /// What judges the connection.
    @exclusivity(unchecked) var policy: HTTP2Policy
    @exclusivity(unchecked) private var streams: [HTTP2Stream] = []
    /// The streams of other protocols that end with their last bytes.
    @exclusivity(unchecked) private var leaving: [HTTP2Stream] = []
    /// The bytes of the authority and the path of a request.
    @exclusivity(unchecked) private var target: [UInt8] = []
    /// The instant of the bytes that are being received.
    var now: EngineInstant
    /// The fault of the server that has ended the connection, if any.
    private var fault: HTTP2Fault?
    /// The failure of the connection.
    private(set) var failure: EngineFailure?

    /// Creates a session; `nil` if nghttp2 is not available, or memory has run out.
    ///
    /// - Parameter defaults: The header lines of requests without their own.
    init?(_ settings: Settings, defaults: HeaderLines, delegate: any HTTP2SessionDelegate) {
        self.settings = settings
        self.defaults = defaults
        unsafe self.delegate = delegate
        now = delegate.now
        unsafe policy = HTTP2Policy(settings.limits, keepalive: settings.keepalive, at: now)
        var events = Self.events
        let window = UInt32(settings.limits.streamWindow)
        // The session itself is the context, which is known last.
        guard let connection = unsafe ccurl_http2_create(&events, window, settings.connectionWindow) else { return nil }
        unsafe self.connection = connection
        unsafe ccurl_http2_set_context(connection, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { unsafe ccurl_http2_free(connection) }

    // MARK: Bytes

    /// Uses bytes that were received. Throws if the connection cannot be used any more; all streams have failed then.
    func receive(_ bytes: RawSpan) throws(EngineFailure) {
        if let failure { throw failure }
        now = unsafe delegate.now
        unsafe policy.keepalive.didReceive(at: now)
        let goesOn = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe ccurl_http2_receive(connection, $0, bytes.count) } ?? true
        }
        withExtendedLifetime(self) {}
        judge(unsafe policy.fault(waitingFrames: ccurl_http2_waiting_frames(connection)))
        guard goesOn, fault == nil else { throw didBreak() }
    }

    /// Notifies the session of the end or the failure of the connection: all streams fail. A stream is marked as unprocessed if nothing of
    /// it was sent, or if a GOAWAY has refused it.
    func connectionEnded(_ failure: EngineFailure) {
        guard self.failure == nil else { return }
        self.failure = failure
        for stream in unsafe streams where !stream.hasEnded {
            fail(stream, lost(stream, failure), by: .failed)
        }
    }

    /// Writes bytes that are to be sent next: frames of all streams, together. Returns their number, 0 if there are none.
    ///
    /// - Parameter room: The memory, with at least ``smallestRoom`` bytes.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
        guard let start = room.baseAddress else { return 0 }
        let count = unsafe ccurl_http2_fill(connection, start, room.count)
        withExtendedLifetime(self) {}
        if failure == nil, unsafe ccurl_http2_is_broken(connection) { unsafe delegate.sessionDidFail(didBreak()) }
        return count
    }

    /// The smallest room for bytes to be sent.
    static let smallestRoom = Int(CCURL_HTTP2_ROOM)

    /// Whether ``fill(_:)`` has bytes.
    var wantsWrite: Bool { unsafe ccurl_http2_wants_write(connection) }

    // MARK: Streams

    /// Begins a request. Its head is among the next bytes to be sent, unless the server allows no further stream.
    ///
    /// Throws if a part of the head would be read as another part, or if ``takesStreams`` is `false`. An extended CONNECT waits for the
    /// server's settings. Its stream fails if the server does not offer it.
    ///
    /// - Parameter holdsBody: Whether the body waits for ``resumeBody(_:)``.
    func submit(_ options: TransferOptions, holdsBody: Bool = false) throws(EngineFailure) -> HTTP2Stream {
        guard takesStreams else { throw refusal }
        let stream = HTTP2Stream(options)
        if holdsBody { unsafe stream.sending.isHeldBack = true }
        if unsafe stream.upgrade == nil || hasSettings {
            try begin(stream, options)
        } else {
            unsafe stream.upgrade?.waiting = options
        }
        stream.index = unsafe streams.count
        unsafe streams.append(stream)
        unsafe policy.didOpenStream(at: delegate.now)
        return stream
    }

    private func begin(_ stream: HTTP2Stream, _ options: TransferOptions) throws(EngineFailure) {
        let isExtendedConnect = unsafe stream.upgrade != nil
        guard unsafe !isExtendedConnect || ccurl_http2_allows_extended_connect(connection) else {
            throw EngineFailure(kind: .extendedConnectNotOffered, message: "")
        }
        unsafe target.removeAll(keepingCapacity: true)
        unsafe options.url.appendAuthority(to: &target)
        let authority = unsafe target.count
        unsafe options.appendPath(to: &target)
        let lines = options.lines(orDefault: defaults)
        let rest = unsafe stream.sending.rest, isStream = unsafe stream.sending.isStream
        let hasBody = isExtendedConnect || isStream && (rest != 0 || options.hasTrailers) || rest ?? 0 > 0
        let method = isExtendedConnect ? "CONNECT" : options.method
        let number = unsafe method.utf8.span.withUnsafeBytes { method in
            unsafe target.withUnsafeBytes { target in
                unsafe lines.bytes.withUnsafeBytes { lines in
                    guard let text = method.baseAddress, let start = target.baseAddress else {
                        return CCURL_HTTP2_BAD_TARGET
                    }
                    var request = unsafe ccurl_http2_request(
                        method: text, method_length: method.count, target: start, authority_length: authority,
                        target_length: target.count, lines: lines.baseAddress, lines_length: lines.count,
                        content_length: rest ?? -1, is_secure: options.url.isSecure, has_body: hasBody,
                        is_extended_connect: isExtendedConnect, head_size: 0)
                    let user = unsafe Unmanaged.passUnretained(stream).toOpaque()
                    defer { unsafe stream.sending.headSize = request.head_size }
                    return unsafe ccurl_http2_submit(connection, &request, user)
                }
            }
        }
        guard number > 0 else { throw failure(ofSubmitting: number) }
        stream.number = number
    }

    /// Begins the requests that have waited for the server's settings.
    func settingsReceived() {
        guard !hasSettings else { return }
        hasSettings = true
        for stream in unsafe streams where stream.isActive {
            guard let options = unsafe stream.upgrade?.waiting.take() else { continue }
            do throws(EngineFailure) {
                guard takesStreams else { throw refusal }
                try begin(stream, options)
            } catch {
                fail(stream, error, by: .failed)
            }
        }
    }

    private func failure(ofSubmitting code: Int32) -> EngineFailure {
        switch code {
        case CCURL_HTTP2_BAD_FIELD: EngineFailure(kind: .internalError, message: "a field of the request is malformed")
        case CCURL_HTTP2_BAD_TARGET:
            EngineFailure(kind: .malformedURL, message: "the method or the target of the request is malformed")
        case CCURL_HTTP2_REFUSED: refusal
        default: .outOfMemory
        }
    }

    /// The failure of a request that is not sent.
    private var refusal: EngineFailure {
        let failure = unsafe policy.goAway?.refusal ?? self.failure
        return (failure ?? EngineFailure(kind: .http2, message: "the connection takes no more requests")).unprocessed
    }

    /// Forgets the fields of the last request, which may have credentials.
    func forgetFields() {
        unsafe ccurl_http2_forget_fields(connection)
        unsafe target = []
    }

    /// Holds back the rest of a request's body until ``resumeBody(_:)``.
    func holdBody(_ stream: HTTP2Stream) { unsafe stream.sending.isHeldBack = true }

    /// Continues with the body of a request.
    func resumeBody(_ stream: HTTP2Stream) {
        guard stream.isActive else { return }
        unsafe stream.sending.isHeldBack = false
        if unsafe stream.sending.isAsking {
            unsafe stream.sending.mustAskAgain = true
        } else {
            unsafe ccurl_http2_resume(connection, stream.number)
        }
    }

    /// Ends a stream with a reset, without an event. If its head was not sent yet, nothing is sent.
    func cancel(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode = .cancel) {
        guard stream.isActive else { return }
        if !stream.hasEnded { reset(stream, code) }
        remove(stream)
    }

    /// Ends a stream with another protocol, without an event. Its last bytes and its end are among the next bytes to be sent, as far as
    /// the server's windows allow. ``resetLeaving()`` ends what is left.
    func finish(_ stream: HTTP2Stream) {
        guard stream.isActive else { return }
        unsafe stream.upgrade?.isLeaving = true
        unsafe (stream.isHeld, stream.receiving.held, stream.receiving.start) = (false, [], 0)
        unsafe leaving.append(stream)
        resumeBody(stream)
    }

    /// Resets the streams that have not ended although ``finish(_:)`` was called. Returns whether there may have been some.
    func resetLeaving() -> Bool {
        let left = unsafe leaving
        unsafe leaving = []
        for stream in left { cancel(stream) }
        return !left.isEmpty
    }

    /// The number of streams that have neither ended nor failed.
    var activeStreams: Int { unsafe policy.openStreams }
    /// The number of streams that the server takes at a time.
    var capacity: Int { unsafe policy.openStreams + policy.capacity }
    /// The number of streams that the connection carries at most.
    var streamLimit: Int { unsafe policy.streamLimit }
    /// Whether new streams can be begun: the server has sent no GOAWAY, the session has not failed, and there are numbers left.
    var takesStreams: Bool {
        unsafe failure == nil && !policy.isDraining && ccurl_http2_takes_requests(connection)
    }

    // MARK: The connection

    /// Tells the server that no more streams follow, with a GOAWAY. The present ones go on.
    func goAway() { unsafe ccurl_http2_go_away(connection, 0) }

    /// Whether the server's settings are known.
    private var hasSettings = false
    /// Whether the server has acknowledged the settings.
    private(set) var areSettingsAcknowledged = false

    /// The instant of the next ``check()``; `nil` if there is nothing to wait for.
    var deadline: EngineInstant? { failure == nil ? unsafe policy.deadline : nil }

    /// Does what is to be done at the present instant: a PING, or the end of a connection whose server is silent.
    func check() {
        guard failure == nil else { return }
        switch unsafe policy.check(at: delegate.now) {
        case .wait: break
        case .ping(let number): unsafe ccurl_http2_ping(connection, number)
        case .end(let fault):
            end(fault)
            unsafe delegate.sessionDidFail(didBreak())
        }
    }

    /// Does what the checks by PING ask for.
    func perform(_ action: HTTP2Keepalive.Action) {
        if case .ping(let number) = action { unsafe ccurl_http2_ping(connection, number) }
    }

    /// Ends the connection because of a fault of the server. The streams fail with the end of the call from which this one comes.
    func end(_ fault: HTTP2Fault) {
        guard self.fault == nil, failure == nil else { return }
        self.fault = fault
        unsafe ccurl_http2_go_away(connection, fault.code.rawValue)
    }

    func settingsAcknowledged() {
        areSettingsAcknowledged = true
        unsafe policy.didReceiveSettingsAcknowledgement(at: now)
    }

    // MARK: Ends

    /// Fails all streams, because the connection is broken. Returns the failure.
    private func didBreak() -> EngineFailure {
        if let failure { return failure }
        let reason = unsafe String(cString: ccurl_http2_reason(connection))
        let words = reason.isEmpty ? "the server violates HTTP/2" : reason
        let failure = fault?.failure ?? EngineFailure(kind: .http2, message: words)
        connectionEnded(failure)
        return failure
    }

    /// Returns the failure of a stream whose connection has failed.
    func lost(_ stream: HTTP2Stream, _ failure: EngineFailure) -> EngineFailure {
        if !stream.isHeadSent { return failure.unprocessed }
        guard let goAway = unsafe policy.goAway else { return failure }
        if goAway.excludes(stream.number) { return goAway.refusal }
        return goAway.code == .noError ? failure : goAway.loss
    }

    /// Resets a stream, which has no more events.
    func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        let window = stream.isHeadSent ? unsafe Int(ccurl_http2_window(connection, stream.number)) : 0
        unsafe policy.didCloseStream(stream.isHeadSent ? .reset(window: window) : .failed)
        unsafe ccurl_http2_reset(connection, stream.number, code.rawValue)
    }

    /// Fails a stream, after the bytes that its reader has not taken yet.
    ///
    /// - Parameters:
    ///   - end: How the stream has ended; `nil` if it is reset.
    ///   - code: The code of the reset.
    func fail(
        _ stream: HTTP2Stream, _ failure: EngineFailure, by end: HTTP2Policy.StreamEnd? = nil,
        resetting code: HTTP2ErrorCode = .protocolError
    ) {
        guard stream.isActive, !stream.hasEnded else { return }
        if let end {
            unsafe policy.didCloseStream(end)
            unsafe ccurl_http2_forget(connection, stream.number)
        } else {
            reset(stream, code)
        }
        finish(stream, .failure(failure))
    }

    /// Ends a stream, after the bytes that its reader has not taken yet.
    func finish(_ stream: HTTP2Stream, _ end: Result<WireFields, EngineFailure>) {
        guard unsafe stream.receiving.heldCount == 0 else { return unsafe stream.receiving.end = end }
        if stream.isSwitched, case .success = end { unsafe stream.receiving.end = end } else { remove(stream) }
        switch end {
        case .success(let trailers): unsafe delegate.streamDidEnd(stream, trailers: trailers)
        case .failure(let failure): unsafe delegate.streamDidFail(stream, failure)
        }
    }

    /// Removes all streams without events. Returns them.
    func removeAll() -> [HTTP2Stream] {
        let removed = unsafe streams
        unsafe streams = []
        for stream in removed {
            stream.isActive = false
            unsafe ccurl_http2_forget(connection, stream.number)
        }
        return removed
    }

    private func remove(_ stream: HTTP2Stream) {
        stream.isActive = false
        unsafe (stream.sending.bytes, stream.receiving.held, stream.receiving.start) = ([], [], 0)
        unsafe stream.upgrade?.connection?.dropBytes()
        let last = unsafe streams.removeLast()
        guard last !== stream else { return }
        unsafe streams[stream.index] = last
        last.index = stream.index
    }
}
