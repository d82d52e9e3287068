public import FoundationEssentials
public import TrellisCore
public import TrellisWebSockets

extension LoopbackServer {
    /// A frame of a WebSocket (RFC 6455, section 5.2), without its mask.
    public struct WebSocketFrame: Sendable, Hashable {
        /// The first byte: the final bit, the reserved bits and the opcode, such as 0x81 for a whole text.
        public var first: UInt8
        /// The payload.
        public var payload: [UInt8]

        /// Creates a frame.
        public init(_ first: UInt8, _ payload: [UInt8] = []) {
            (self.first, self.payload) = (first, payload)
        }

        /// The bytes of the frame as a server sends it, with the shortest form of its length.
        public var bytes: [UInt8] {
            switch payload.count {
            case ...125: [first, UInt8(payload.count)] + payload
            case ...0xFFFF: [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
            default:
                [first, 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) } + payload
            }
        }
    }

    /// A WebSocket as the script of a server sees it. All calls block, as its ``connection``'s do.
    ///
    /// The calls follow the protocol; a script that is to break it sends any frame (``send(_:)-(LoopbackServer.WebSocketFrame)``), and any
    /// bytes, over the ``connection``, which it can also reset or close.
    public final class WebSocketPeer {
        /// The request of the handshake.
        public let request: ReceivedRequest
        /// The connection below the WebSocket.
        public let connection: Connection
        /// The code of the client's Close frame: 1005 if it has none; `nil` while none was received.
        public private(set) var closeCode: WebSocketCloseCode?
        /// The reason of the client's Close frame.
        public private(set) var closeReason = ""
        /// Whether a Close frame was sent.
        private(set) var hasSentClose = false
        /// The messages that were received while a call waited for something else.
        private var early: [WebSocketMessage] = []
        /// The payloads of the Pong frames that were received.
        private var pongs: [[UInt8]] = []

        init(_ request: ReceivedRequest, _ connection: Connection) {
            self.request = request
            self.connection = connection
        }

        // MARK: Sending

        /// Sends a message in one frame.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func send(_ message: WebSocketMessage) throws {
            try send(WebSocketFrame(message.text == nil ? 0x82 : 0x81, Array(message.data)))
        }

        /// Sends a text.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func send(_ text: String) throws { try send(.text(text)) }

        /// Sends bytes.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func send(_ data: Data) throws { try send(.binary(data)) }

        /// Sends a frame, whether the protocol allows it or not.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func send(_ frame: WebSocketFrame) throws {
            if frame.first & 0x0F == 8 { hasSentClose = true }
            try connection.write(frame.bytes)
        }

        /// Sends a ping, and returns when the client has answered it. Messages that come before the answer are received later.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func ping(_ payload: String = "") throws {
            try send(WebSocketFrame(0x89, Array(payload.utf8)))
            while !pongs.contains(Array(payload.utf8)) {
                guard let message = try nextMessage() else { throw Interruption.closedByPeer }
                if let message { early.append(message) }
            }
            pongs.removeAll()
        }

        /// Closes the WebSocket, and returns when the client has answered. Messages that come before the answer are dropped.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") throws {
            let bytes = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + Array(reason.utf8)
            try send(WebSocketFrame(0x88, bytes))
            while closeCode == nil, try nextMessage() != nil {}
        }

        // MARK: Receiving

        /// Returns the next message; `nil` after the client's Close frame, which is answered. Pings are answered too.
        ///
        /// - Throws: ``Interruption/closedByPeer`` if the connection ends without a Close frame.
        public func receive() throws -> WebSocketMessage? {
            if !early.isEmpty { return early.removeFirst() }
            while let message = try nextMessage() { if let message { return message } }
            return nil
        }

        /// Returns the next frame as the client sent it, and neither joins nor answers anything.
        ///
        /// - Throws: ``LoopbackServer/Interruption``; ``LoopbackServer/MalformedRequest`` if the length has its first bit set.
        public func receiveFrame() throws -> WebSocketFrame {
            let head = try connection.read(exactly: 2)
            var count = Int(head[1] & 0x7F)
            if count >= 126 {
                count = try connection.read(exactly: count == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) }
                // The first bit of the eight bytes is 0 (RFC 6455, section 5.2).
                guard count >= 0 else { throw MalformedRequest(reason: "the length of a frame has its first bit set") }
            }
            let mask = try head[1] & 0x80 == 0 ? [0, 0, 0, 0] : connection.read(exactly: 4)
            var payload = try connection.read(exactly: count)
            // Written with indices, because generic code takes most of the time in builds without optimization.
            for index in payload.indices { payload[index] ^= mask[index & 3] }
            return WebSocketFrame(head[0], payload)
        }

        /// Returns the next message, `.some(nil)` after another frame was handled, and `nil` after the client's Close frame.
        private func nextMessage() throws -> WebSocketMessage?? {
            guard closeCode == nil else { return nil }
            let frame = try receiveFrame()
            switch frame.first & 0x0F {
            case 8:
                try didReceiveClose(frame.payload)
                return nil
            case 9: try send(WebSocketFrame(0x8A, frame.payload))
            case 10: pongs.append(frame.payload)
            default: return try message(from: frame)
            }
            return .some(nil)
        }

        private func message(from first: WebSocketFrame) throws -> WebSocketMessage?? {
            var payload = first.payload
            var isFinal = first.first & 0x80 != 0
            while !isFinal {
                let frame = try receiveFrame()
                switch frame.first & 0x0F {
                case 0:
                    payload += frame.payload
                    isFinal = frame.first & 0x80 != 0
                case 9: try send(WebSocketFrame(0x8A, frame.payload))
                case 10: pongs.append(frame.payload)
                default:
                    try didReceiveClose(frame.payload)
                    return nil
                }
            }
            return first.first & 0x0F == 1
                ? .text(String(decoding: payload, as: UTF8.self)) : .binary(Data(payload))
        }

        private func didReceiveClose(_ payload: [UInt8]) throws {
            closeCode =
                payload.count < 2
                ? .noStatusReceived : WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
            closeReason = String(decoding: payload.dropFirst(2), as: UTF8.self)
            if !hasSentClose { try send(WebSocketFrame(0x88, Array(payload.prefix(2)))) }
        }
    }
}

extension LoopbackServer.Connection {
    /// Accepts the handshake of a WebSocket, for a script that has read the head of its request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - headers: More fields of the response, such as `Sec-WebSocket-Protocol`.
    /// - Throws: ``LoopbackServer/MalformedRequest`` if the request asks for no WebSocket, after a response of status 400.
    public func acceptWebSocket(
        _ request: LoopbackServer.ReceivedRequest, headers: [(name: String, value: String)] = []
    ) throws -> LoopbackServer.WebSocketPeer {
        guard let key = request["Sec-WebSocket-Key"] else {
            try write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            throw LoopbackServer.MalformedRequest(reason: "no handshake of a WebSocket")
        }
        let more = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        try write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(WebSocketKey.accept(key))\r\n\(more)\r\n")
        return LoopbackServer.WebSocketPeer(request, self)
    }
}
