/// An error code of HTTP/2 (RFC 9113, section 7), known or not.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

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
