extension TrellisError {
    /// The reason why a conversation over a WebSocket (RFC 6455) failed.
    public enum WebSocketFailure: Error, Sendable, Hashable {
        /// The server's response has the status 101, but does not belong to the handshake of the request (RFC 6455, section 4.1); or the
        /// request demands HTTP/2, over which the server offers no WebSockets (RFC 8441).
        case handshake(String)
        /// The server broke the protocol, and was told so with the close code 1002 or 1007.
        case protocolViolation(String)
        /// A frame or a message of the server exceeds its limit in bytes, before or after decompression. The server was told so with the
        /// close code 1009.
        case tooLarge(limit: Int)
        /// The server closed the connection with a code other than 1000 and 1001.
        case closed(code: WebSocketCloseCode, reason: String)
        /// Messages were dropped, because this side closed the connection and nothing read the messages before them.
        case dropped
        /// The connection ended without a Close frame, so that messages may be missing (code 1006).
        case lost(String)
        /// The server did not answer a Ping frame in time.
        case noPong(after: Duration)
        /// The message or the Ping frame cannot be sent, because the connection is closed, or closing.
        case notOpen
        /// The code cannot be sent in a Close frame, the subprotocol cannot be offered, or a limit is not positive.
        case invalidArgument(String)
    }
}

extension TrellisError {
    /// A part of the life of a WebSocket.
    package enum WebSocketPart: Sendable {
        /// The request that opens the connection.
        case handshake
        /// The connection after that.
        case conversation
    }

    /// Returns the error as one of a WebSocket, whose URL has the scheme `ws` or `wss` instead of the handshake's.
    package func ofWebSocket(_ part: WebSocketPart) -> TrellisError {
        var error = self
        error.webSocketPart = part
        error.url = error.url?.withWebSocketScheme
        error.response = error.response?.withWebSocketScheme
        return error
    }

    /// The WebSocket in words, instead of the method and the URL of its handshake; `nil` for other requests, and without a URL.
    var webSocketWords: String? {
        guard let webSocketPart, let url else { return nil }
        let name = url.withWebSocketScheme
        return webSocketPart == .handshake ? "WebSocket handshake with \(name)" : "WebSocket \(name)"
    }
}

extension TrellisError.WebSocketFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .handshake(let reason): "the server accepted no WebSocket: \(reason)"
        case .protocolViolation(let reason): "the server broke the WebSocket protocol: \(reason)"
        case .tooLarge(let limit): "a message of the server, or one of its frames, exceeds \(limit) bytes"
        case .closed(let code, let reason):
            "the server closed the WebSocket with the code \(code)" + (reason.isEmpty ? "" : " (\(reason))")
        case .dropped: "messages were dropped, because this side closed the WebSocket and did not read them"
        case .lost(let reason): "the WebSocket ended without a Close frame: \(reason)"
        case .noPong(let limit): "the server did not answer a ping within \(limit.rounded)"
        case .notOpen: "the WebSocket is closed"
        case .invalidArgument(let reason): reason
        }
    }

    /// Whether another connection may succeed. The codes come from servers that go away (1001), fail (1011), restart (1012),
    /// are overloaded (1013) or cannot reach their own server (1014).
    var isTransient: Bool {
        switch self {
        case .lost, .noPong: true
        case .closed(let code, _):
            [.goingAway, .abnormalClosure, .internalError, .serviceRestart, .tryAgainLater, .badGateway].contains(code)
        case .handshake, .protocolViolation, .tooLarge, .dropped, .notOpen, .invalidArgument: false
        }
    }
}
