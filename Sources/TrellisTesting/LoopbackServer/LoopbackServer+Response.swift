import CurlEngine
public import FoundationEssentials
public import HTTPTypes

extension LoopbackServer {
    /// The response of a route. The framing (`Content-Length`, chunks, connection) is written by the server.
    public struct Response: Sendable {
        /// The status code.
        public var status: Int
        /// The field lines, in order; framing fields are added to them.
        public var headers: [(name: String, value: String)]
        /// The body.
        public var body: Body

        /// The kinds of body.
        public enum Body: Sendable {
            /// The complete body at once.
            case bytes(Data)
            /// A streamed body with this `Content-Length`.
            case sized(Int, @Sendable (BodyWriter) throws -> Void)
            /// A streamed body in chunks: each write is one chunk.
            case chunked(@Sendable (BodyWriter) throws -> Void)
            /// A closure that replaces the server's response: it decides what happens on the wire, and the connection
            /// ends after it.
            case raw(@Sendable (Connection) throws -> Void)
        }

        /// Creates a response with a body in memory.
        public init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: Data = Data()) {
            self.init(status, headers: headers, body: .bytes(body))
        }

        /// Creates a response with a body of any kind.
        public init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: Body) {
            self.status = status
            self.headers = headers
            self.body = body
        }

        /// Creates a response with a body in memory, with the labels of a ``MockResponse``.
        public init(status: Int, headers: HTTPFields = HTTPFields(), body: Data = Data()) {
            self.init(status, headers: Self.lines(headers), body: .bytes(body))
        }

        /// Creates a response with a body of any kind, with the labels of a ``MockResponse``.
        public init(status: Int, headers: HTTPFields = HTTPFields(), body: Body) {
            self.init(status, headers: Self.lines(headers), body: body)
        }

        /// Creates a response with the status 200 and a body in memory.
        public init(headers: HTTPFields, body: Data = Data()) { self.init(status: 200, headers: headers, body: body) }

        /// Creates a response with the status 200 and a body of any kind.
        public init(headers: HTTPFields, body: Body) { self.init(status: 200, headers: headers, body: body) }

        /// Returns the field lines of fields.
        private static func lines(_ headers: HTTPFields) -> [(name: String, value: String)] {
            headers.map { (name: $0.name.rawName, value: $0.value) }
        }

        /// Returns a response with text, as UTF-8.
        ///
        /// - Parameters:
        ///   - text: The text.
        ///   - status: The status code. The default is 200.
        ///   - type: The `Content-Type`.
        public static func text(
            _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8"
        ) -> Response {
            Response(status, headers: [("Content-Type", type)], body: Data(text.utf8))
        }

        /// Returns a response with JSON, already encoded.
        public static func json(_ json: String, status: Int = 200) -> Response {
            .text(json, status: status, type: "application/json")
        }
    }

    /// A writer of a streamed body. A write blocks while the client does not read: that is the client's backpressure.
    public struct BodyWriter {
        /// The connection, for actions that no well-formed response needs: a reset half-way, a wait for a gate.
        public let connection: Connection
        /// Whether each write is a chunk.
        let isChunked: Bool
        /// The faults in the body, if any.
        var faults: BodyFaults?

        /// Writes text as UTF-8.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func write(_ text: String) throws { try write(Array(text.utf8)) }

        /// Writes bytes; one chunk of a chunked body. An empty array writes nothing.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func write(_ bytes: [UInt8]) throws {
            if let faults { try faults.write(bytes, with: self) } else { try writePiece(bytes) }
        }

        func writePiece(_ bytes: [UInt8]) throws {
            guard !bytes.isEmpty else { return }
            guard isChunked else { return try connection.write(bytes) }
            try connection.write(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
        }
    }
}
