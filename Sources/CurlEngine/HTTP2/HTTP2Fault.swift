/// The reason for which this side ends a connection on HTTP/2.
enum HTTP2Fault: Error, Hashable, Sendable {
    /// The server sends frames of a kind faster than any use of the connection explains.
    case flood(HTTP2Overhead)
    /// A header block has more CONTINUATION frames than ``HTTP2Limits/continuations``.
    case continuations
    /// The server sends more DATA on streams that this side has reset than their windows allow.
    case dataOnClosedStreams
    /// The server promises a response, although this side has forbidden that.
    case promise
    /// The server raises the last stream of an earlier GOAWAY (RFC 9113, section 6.8).
    case risingGoAway
    /// The server has not acknowledged this side's settings.
    case settingsTimeout(Duration)
    /// The server has answered nothing for that long, not even a PING.
    case silence(Duration)
    /// The server does not read the frames of this side, and so many wait.
    case waitingFrames(Int)

    /// The code of the GOAWAY that this side sends.
    var code: HTTP2ErrorCode {
        switch self {
        case .flood, .continuations, .waitingFrames: .enhanceYourCalm
        case .dataOnClosedStreams: .flowControlError
        case .promise, .risingGoAway: .protocolError
        case .settingsTimeout: .settingsTimeout
        case .silence: .noError
        }
    }

    /// The description of the fault.
    var message: String {
        switch self {
        case .flood(let kind): "the server sends too many \(kind.frames)"
        case .continuations: "a header block has more than \(HTTP2Limits.standard.continuations) CONTINUATION frames"
        case .dataOnClosedStreams: "the server sends more DATA on closed streams than their windows allow"
        case .promise: "the server promises a response, which the client has forbidden"
        case .risingGoAway: "the server raises the last stream of its GOAWAY"
        case .settingsTimeout(let time): "the server has not acknowledged the client's SETTINGS within \(time)"
        case .silence(let time): "the server has answered nothing for \(time), not even a PING"
        case .waitingFrames(let count): "the server does not read: \(count) frames wait for it"
        }
    }

    /// The failure of the requests that wait for a response on the connection.
    var failure: EngineFailure { EngineFailure(kind: .http2, message: message) }
}

/// An error code of HTTP/2 (RFC 9113, section 7), known or not.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    /// The code on the wire.
    package let rawValue: UInt32

    /// Creates a code, known or not.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    static let noError = Self(rawValue: 0)
    static let protocolError = Self(rawValue: 1)
    static let flowControlError = Self(rawValue: 3)
    static let settingsTimeout = Self(rawValue: 4)
    static let refusedStream = Self(rawValue: 7)
    static let cancel = Self(rawValue: 8)
    static let enhanceYourCalm = Self(rawValue: 0xb)
    static let http11Required = Self(rawValue: 0xd)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name of the code; the number of an unknown one.
    var name: String {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "0x" + String(rawValue, radix: 16)
    }
}
