/// Judges a connection on HTTP/2: what the server sends comes in, and what follows goes out. A value without clocks, sockets and bytes.
///
/// The connection reports each frame, and asks how many streams may be opened, which requests the server has not processed, and when to
/// look at the time. A ``HTTP2Fault`` ends the connection with a GOAWAY of its code.
struct HTTP2Policy: Sendable {
    /// The head of a frame (RFC 9113, section 4.1).
    struct Frame: Hashable, Sendable {
        let kind: UInt8
        let flags: UInt8
        let length: Int
        let stream: Int32

        init(kind: UInt8, flags: UInt8 = 0, length: Int = 0, stream: Int32 = 0) {
            (self.kind, self.flags, self.length, self.stream) = (kind, flags, length, stream)
        }

        static let data: UInt8 = 0, headers: UInt8 = 1, priority: UInt8 = 2, reset: UInt8 = 3, settings: UInt8 = 4
        static let promise: UInt8 = 5, ping: UInt8 = 6, goAway: UInt8 = 7, windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
        /// ACK of SETTINGS and PING, and END_STREAM of DATA and HEADERS.
        static let flag: UInt8 = 1
    }

    private let limits: HTTP2Limits
    private var meter: HTTP2FrameMeter
    /// The checks of the connection by PING.
    var keepalive: HTTP2Keepalive

    // MARK: State of the server

    /// The server's last GOAWAY, if any.
    private(set) var goAway: HTTP2GoAway?
    /// The instant at which this side's settings were sent; `nil` once they are acknowledged.
    private var settingsSent: EngineInstant?
    /// The number of streams that the server allows; ``HTTP2Limits/streamsBeforeSettings`` before its settings are known.
    private var allowedStreams: Int
    /// The number of streams that the server had taken when it refused another one, if it did. It grows when so many have completed.
    private var takenStreams: Int?
    /// The number of streams that have completed since ``takenStreams`` was set.
    private var completedStreams = 0
    /// The number of open streams.
    private(set) var openStreams = 0
    /// The number of CONTINUATION frames of the present header block.
    private var continuations = 0
    /// The bytes of content that may still arrive for streams that this side has reset.
    private var lateBytes = 0

    /// Creates the state of a connection whose preface, with this side's settings, is sent now.
    init(_ limits: HTTP2Limits = .standard, keepalive: HTTP2Keepalive.Settings = .init(), at now: EngineInstant) {
        self.limits = limits
        meter = HTTP2FrameMeter(limits, at: now)
        self.keepalive = HTTP2Keepalive(keepalive, at: now)
        settingsSent = now
        allowedStreams = limits.streamsBeforeSettings
    }

    // MARK: Capacity

    /// Whether the connection takes no stream any more. It ends with its last stream.
    var isDraining: Bool { goAway != nil || meter.work.streams >= limits.streamsOfAConnection }

    /// The number of streams that may be opened now. It is zero while the connection is full, in doubt or draining.
    var capacity: Int {
        guard !isDraining, !keepalive.isInDoubt else { return 0 }
        return max(0, streamLimit - openStreams)
    }

    /// The number of streams that the connection carries at most.
    var streamLimit: Int { min(allowedStreams, limits.streams, takenStreams ?? .max) }

    /// Records the server's settings.
    ///
    /// - Parameter allowed: The value of SETTINGS_MAX_CONCURRENT_STREAMS; `nil` if the server has never named one.
    mutating func didReceiveSettings(maximumStreams allowed: UInt32?) {
        allowedStreams = allowed.map { Int(clamping: $0) } ?? .max
    }

    /// Records that the server has acknowledged this side's settings.
    mutating func didReceiveSettingsAcknowledgement(at now: EngineInstant) {
        guard let sent = settingsSent else { return }
        settingsSent = nil
        keepalive.measure(from: sent, to: now)
    }

    // MARK: Streams

    /// Records that a stream is opened.
    mutating func didOpenStream(at now: EngineInstant) {
        if openStreams == 0 { keepalive.didBecomeBusy(at: now) }
        openStreams += 1
        meter.work.streams += 1
    }

    /// Records the end of a stream.
    mutating func didCloseStream(_ end: StreamEnd) {
        openStreams -= 1
        switch end {
        case .completed:
            guard let taken = takenStreams else { return }
            completedStreams += 1
            if completedStreams >= taken { (takenStreams, completedStreams) = (taken + 1, 0) }
        // A server without any stream takes at least one, because otherwise no response would ever raise the number.
        case .refused: (takenStreams, completedStreams) = (max(openStreams, 1), 0)
        case .reset(let window): didReset(window: window)
        case .failed: break
        }
    }

    /// Records that this side resets a stream, and still has granted that many bytes to the server.
    mutating func didReset(window: Int) {
        meter.work.resets += 1
        // The server may know the larger windows already, although its acknowledgement has not come.
        let growth = settingsSent == nil ? 0 : limits.streamWindow - HTTP2Limits.initialWindow
        lateBytes += max(window + growth, 0)
    }

    /// The ways in which a stream ends.
    enum StreamEnd: Hashable, Sendable {
        /// With its response. If this side then resets the stream, ``HTTP2Policy/didReset(window:)`` tells that too.
        case completed
        /// With REFUSED_STREAM.
        case refused
        /// With another reset of the server, or with GOAWAY.
        case failed
        /// By this side, which still has granted that many bytes to the server.
        case reset(window: Int)
    }

    /// Records that content was sent.
    ///
    /// - Parameter isCut: Whether the frame is as long as the server's window allowed, and more content waits.
    mutating func didSendData(_ count: Int, isCut: Bool) {
        meter.work.sentBytes += count
        if !isCut { meter.work.sentData += 1 }
    }

    // MARK: Frames

    /// Records the head of a frame. Returns the fault that ends the connection, if any.
    ///
    /// - Parameter isOpen: Whether the frame's stream is open on this side. It counts for HEADERS and DATA.
    mutating func didReceive(_ frame: Frame, isOpen: Bool, at now: EngineInstant) -> HTTP2Fault? {
        let isFlagged = frame.flags & Frame.flag != 0
        switch frame.kind {
        case Frame.data:
            guard isOpen else { return dataOnClosedStream(frame.length) }
            keepalive.didReceiveContent()
            // Whether the frame has content beside its padding is known later.
            guard frame.length == 0 else { return nil }
            return isFlagged ? nil : take(.emptyData, at: now)
        case Frame.headers:
            continuations = 0
            guard isOpen else { return take(.lateHeaders, at: now) }
            keepalive.didReceiveContent()
            meter.work.heads += 1
            return nil
        case Frame.continuation:
            continuations += 1
            return continuations > limits.continuations ? .continuations : nil
        case Frame.settings:
            guard isFlagged else { return take(.settings, at: now) }
            return settingsSent == nil ? take(.other, at: now) : nil
        case Frame.ping: return isFlagged ? nil : take(.ping, at: now)
        case Frame.reset: return take(.reset, at: now)
        case Frame.windowUpdate: return take(.windowUpdate, at: now)
        case Frame.promise: return .promise
        default: return take(.other, at: now)
        }
    }

    /// Records the content of a DATA frame with the bytes of its padding. Returns the fault that ends the connection, if any.
    mutating func didReceiveData(content: Int, padding: Int, at now: EngineInstant) -> HTTP2Fault? {
        if content > 0 { meter.work.receivedData += 1 }
        return content == 0 && padding > 0 ? take(.emptyData, at: now) : nil
    }

    /// Records the acknowledgement of a PING. Returns the fault that ends the connection, if any.
    mutating func didReceiveAnswer(_ number: UInt64, at now: EngineInstant) -> HTTP2Fault? {
        keepalive.didReceiveAnswer(number, at: now) ? nil : take(.other, at: now)
    }

    /// Records a GOAWAY. Streams above ``HTTP2GoAway/lastStream`` were not processed, and fail with ``HTTP2GoAway/refusal``.
    mutating func didReceive(_ next: HTTP2GoAway) -> HTTP2Fault? {
        guard next.lastStream <= goAway?.lastStream ?? .max else { return .risingGoAway }
        // The first error says most: servers repeat GOAWAY without a text when they close the connection.
        goAway = HTTP2GoAway(next, after: goAway)
        return nil
    }

    /// Returns the fault if so many of this side's frames wait for the server.
    func fault(waitingFrames count: Int) -> HTTP2Fault? { count > limits.waitingFrames ? .waitingFrames(count) : nil }

    private mutating func dataOnClosedStream(_ count: Int) -> HTTP2Fault? {
        lateBytes -= count
        return lateBytes < 0 ? .dataOnClosedStreams : nil
    }

    private mutating func take(_ kind: HTTP2Overhead, at now: EngineInstant) -> HTTP2Fault? {
        meter.take(kind, at: now) ? nil : .flood(kind)
    }

    // MARK: Time

    /// The instant at which ``check(at:)`` has something to do; `nil` if never. Bytes that arrive only move it later.
    var deadline: EngineInstant? {
        guard let settings = settingsSent?.advanced(by: limits.settingsTime) else {
            return keepalive.deadline(streams: openStreams)
        }
        return keepalive.deadline(streams: openStreams).map { min($0, settings) } ?? settings
    }

    /// Returns what is to be done at an instant.
    mutating func check(at now: EngineInstant) -> Check {
        if let sent = settingsSent, now >= sent.advanced(by: limits.settingsTime) {
            return .end(.settingsTimeout(limits.settingsTime))
        }
        return switch keepalive.check(streams: openStreams, at: now) {
        case .wait: .wait
        case .ping(let number): .ping(number)
        case .dead(let time): .end(.silence(time))
        }
    }

    /// What is to be done at an instant.
    enum Check: Hashable, Sendable {
        /// Nothing before ``HTTP2Policy/deadline``.
        case wait
        /// A PING with that number as its data is to be sent.
        case ping(UInt64)
        /// The connection is to be ended.
        case end(HTTP2Fault)
    }
}
