/// The reason for the end of a ``WebSocket`` as a number (RFC 6455, section 7.4).
///
/// Numbers from 3000 to 3999 are for frameworks and libraries that register them with IANA, and 4000 to 4999 for private use.
public struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable {
    /// The number.
    public let rawValue: UInt16

    /// Creates the code with a number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The code of a connection whose purpose is fulfilled (1000).
    public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
    /// The code of an endpoint that goes away, such as a server that shuts down (1001).
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// The code for a violation of the protocol (1002).
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// The code for a kind of message, text or binary, that an endpoint does not accept (1003).
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// The code of a Close frame that has no code (1005). No frame carries this number.
    public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    /// The code of a connection that ended without a Close frame (1006). No frame carries this number.
    public static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
    /// The code for a message whose content is not consistent with its kind, such as text that is not UTF-8 (1007).
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    /// The code for a message that violates a policy (1008).
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// The code for a message that is too large (1009).
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// The code of a client that misses an extension in the server's handshake (1010).
    public static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
    /// The code for an unexpected condition (1011).
    public static let internalError = WebSocketCloseCode(rawValue: 1011)
    /// The code of a server that restarts (1012, registered with IANA).
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// The code of a server that is overloaded (1013, registered with IANA).
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// The code of a gateway whose server gave an invalid response (1014, registered with IANA).
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// Whether a Close frame may carry the number (RFC 6455, section 7.4.2, and IANA's registry of close codes).
    public var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// Whether the code is of an end that the peers have agreed on, and not of a failure: 1000, 1001, or no code.
    public var isNormal: Bool { self == .normalClosure || self == .goingAway || self == .noStatusReceived }
}

extension WebSocketCloseCode: CustomStringConvertible {
    /// The number in digits.
    public var description: String { String(rawValue) }
}
