/// One connection of HTTP/2 (RFC 9113) from the client's side, which knows no socket: received bytes in, events and bytes to be sent out.
///
/// The framing is nghttp2's, in the library that libcurl has loaded. A session belongs to the engine thread.
final class HTTP2Session {
    /// The settings of a session.
    struct Settings: Hashable, Sendable {
        /// The number of bytes that a server may send on a stream before the reader has taken some.
        var streamWindow: Int32 = 256 << 10
        /// The number of bytes that a server may send on all streams without an acknowledgement that they have arrived.
        var connectionWindow: Int32 = 16 << 20
        /// The largest number of streams at a time, even if the server allows more.
        var maximumStreams = Int.max
    }

    /// The error codes of resets that the engine sends (RFC 9113, section 7).
    enum ResetCode: UInt32, Sendable {
        case noError = 0
        case protocolError = 1
        case internalError = 2
        case cancel = 8
        case enhanceYourCalm = 11
    }

    /// Whether libcurl has loaded an nghttp2 whose functions can be found.
    static var isAvailable: Bool { false }

    private let settings: Settings
    private unowned let delegate: any HTTP2SessionDelegate
    private let defaults: HeaderLines

    /// Creates a session; `nil` if nghttp2 is not available, or memory has run out.
    ///
    /// - Parameter defaults: The header lines of requests without their own.
    init?(_ settings: Settings, defaults: HeaderLines, delegate: any HTTP2SessionDelegate) {
        guard Self.isAvailable else { return nil }
        self.settings = settings
        self.defaults = defaults
        self.delegate = delegate
    }

    // MARK: Bytes

    /// Uses bytes that were received. Throws if the connection cannot be used any more; all streams have failed then.
    func receive(_ bytes: RawSpan) throws(EngineFailure) {}

    /// Notifies the session of the end or the failure of the connection: all streams fail. Those of which nothing was sent, or which a GOAWAY
    /// has refused, are marked as unprocessed.
    func connectionEnded(_ failure: EngineFailure) {}

    /// Writes bytes that are to be sent next: frames of all streams, together. Returns their number, 0 if there are none.
    ///
    /// - Parameter room: The memory, with at least ``smallestRoom`` bytes.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> Int { 0 }

    /// The smallest room for bytes to be sent.
    static let smallestRoom = 32 << 10

    /// Whether ``fill(_:)`` has bytes.
    var wantsWrite: Bool { false }

    // MARK: Streams

    /// Begins a request. Its head is among the next bytes to be sent, unless the server allows no further stream.
    ///
    /// Throws if a part of the head would be read as another part, or if ``takesStreams`` is `false`.
    ///
    /// - Parameter holdsBody: Whether the body waits for ``resumeBody(_:)``, as for a response of status 100.
    func submit(_ options: TransferOptions, holdsBody: Bool = false) throws(EngineFailure) -> HTTP2Stream {
        throw .outOfMemory
    }

    /// Continues with the body of a request.
    func resumeBody(_ stream: HTTP2Stream) {}

    /// Holds back the bytes of a response from now on, and its end. The server can send as many as the stream's window allows.
    func hold(_ stream: HTTP2Stream) {}

    /// Delivers the bytes that were held back, as far as the receiver does not hold the stream again, and what follows them.
    func release(_ stream: HTTP2Stream) {}

    /// Ends a stream with a reset, without an event. If its head was not sent yet, nothing is sent.
    func cancel(_ stream: HTTP2Stream, _ code: ResetCode = .cancel) {}

    /// The number of streams that have neither ended nor failed.
    var activeStreams: Int { 0 }
    /// The number of streams that the server takes at a time: at most 100 before its settings are known.
    var capacity: Int { 100 }
    /// Whether new streams can be begun: the server has sent no GOAWAY, the session has not failed, and there are numbers left.
    var takesStreams: Bool { false }

    // MARK: The connection

    /// Sends a PING.
    func ping(_ payload: UInt64) {}

    /// Tells the server that no more streams follow, with a GOAWAY. The present ones go on.
    func goAway(_ code: ResetCode = .noError) {}

    /// Whether the server has acknowledged the settings.
    var areSettingsAcknowledged: Bool { false }
}
