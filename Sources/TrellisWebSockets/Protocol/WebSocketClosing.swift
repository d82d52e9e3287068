import TrellisCore

/// The content of a Close frame (RFC 6455, section 5.5.1).
struct WebSocketClosing: Hashable, Sendable {
    /// The largest size of a reason in bytes: what a control frame can carry beside the code.
    static let largestReason = 123

    /// The code; ``WebSocketCloseCode/noStatusReceived`` if the frame has none.
    var code: WebSocketCloseCode
    /// The reason as the peer gave it, for logs; empty if there is none.
    var reason = ""

    /// The content of the frame.
    var payload: [UInt8] {
        guard code.isSendable else { return [] }
        return [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + fittingReason
    }

    /// The reason, cut after the last character that fits a frame.
    private var fittingReason: [UInt8] {
        var reason = Array(reason.utf8.prefix(Self.largestReason + 1))
        guard reason.count > Self.largestReason else { return reason }
        // The bytes 0x80 to 0xBF continue a character.
        while let last = reason.popLast(), reason.count > Self.largestReason || last & 0xC0 == 0x80 {}
        return reason
    }

    /// The answer to a Close frame: its code (RFC 6455, section 5.5.1).
    var reply: WebSocketClosing { WebSocketClosing(code: code) }
}
