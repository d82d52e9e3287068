import TrellisCore

/// A violation of the protocol by the server, or of a limit: the reason why the connection fails (RFC 6455, section 7.1.7).
struct WebSocketViolation: Error, Hashable, Sendable {
    /// The code that the server is told.
    let code: WebSocketCloseCode
    /// The violation in words.
    let message: String
    /// The limit in bytes that was exceeded; `nil` for a violation of the protocol.
    var limit: Int?

    /// Returns a violation of the protocol itself (1002).
    static func `protocol`(_ message: String) -> WebSocketViolation {
        WebSocketViolation(code: .protocolError, message: message)
    }

    /// Returns the violation of text that is not UTF-8 (1007).
    static func text(_ message: String) -> WebSocketViolation {
        WebSocketViolation(code: .invalidPayload, message: message)
    }

    /// Returns the violation of a limit (1009).
    static func tooLarge(_ what: String, limit: Int) -> WebSocketViolation {
        WebSocketViolation(code: .messageTooBig, message: "a \(what) exceeds \(limit) bytes", limit: limit)
    }
}
