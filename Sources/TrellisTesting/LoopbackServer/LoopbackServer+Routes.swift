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

    /// Creates a server that responds to each request with the value that the handler returns, and keeps connections alive.
    ///
    /// ```swift
    /// let server = try LoopbackServer.http { request in
    ///     guard request["Authorization"] == "Bearer key" else { return .init(401) }
    ///     switch request.path {
    ///     case "/users": return .json(#"[{"name": "Ada"}]"#)
    ///     case "/log": return .init(body: .chunked { body in for line in 1...9 { try body.write("line \(line)\n") } })
    ///     default: return .init(404)
    ///     }
    /// }
    /// ```
    ///
    /// The handler runs on the connection's thread and may block. When it throws, the response is 500 and the error is in
    /// ``errors``. The response to `Expect: 100-continue` is 100; HEAD, 204 and 304 get no body.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - storesBodies: `false` to count the bytes of request bodies without keeping them.
    ///   - faults: The faults that the server plays. Those of the name and of the connecting only happen to sessions with
    ///     ``sessionConfiguration(_:)``, and to URLs with the name of a host (``url(_:host:scheme:)``).
    ///   - clock: The clock of the latencies and drips among the faults, which last until the test moves the clock; `nil`, the default, for
    ///     real time. The limits of a session that uses libcurl count real time.
    ///   - handler: Returns the response to a request.
    /// - Throws: ``SystemError`` when the system refuses; ``UnplayableFault`` for faults of TLS and of HTTP/2.
    public static func http(
        on address: Address = .ipv4, storesBodies: Bool = true, faults: FaultPlan = [], clock: TestClock? = nil,
        _ handler: @escaping @Sendable (ReceivedRequest) throws -> Response
    ) throws -> LoopbackServer {
        try faults.check(hasHTTP2: false)
        return try LoopbackServer(on: address, tls: nil, faults: faults, clock: clock) { connection, schedule in
            try connection.serve(storesBodies: storesBodies, schedule, handler)
        }
    }
}

extension LoopbackServer.Connection {
    /// Responds to the requests of the connection, one after the other.
    func serve(
        storesBodies: Bool, _ schedule: FaultSchedule,
        _ handler: (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response
    ) throws {
        while let (head, faults) = try nextHead(schedule) {
            if head["Expect"]?.lowercasedASCII() == "100-continue" { try write("HTTP/1.1 100 Continue\r\n\r\n") }
            let request = try readBody(of: head, storing: storesBodies, faults)
            let answer: LoopbackServer.Response
            do {
                answer = try handler(request)
            } catch {
                listener.record.update { $0.errors.append(error) }
                answer = .text("\(error)", status: 500)
            }
            let mayContinue = try faults.isEmpty ? send(answer, to: request) : send(answer, to: request, faults)
            guard mayContinue else { return }
        }
    }

    /// Sends a response; returns whether the connection may carry another request.
    private func send(
        _ answer: LoopbackServer.Response, to request: LoopbackServer.ReceivedRequest
    ) throws -> Bool {
        let hasNoBody = WireHead.hasNoBody(method: request.method, status: answer.status)
        let head = { (framing: String) in
            "HTTP/1.1 \(answer.status) \(reasonPhrase(answer.status))\r\n"
                + answer.headers.map { "\($0.name): \($0.value)\r\n" }.joined() + framing + "\r\n"
        }
        switch answer.body {
        case .raw(let act):
            try act(self)
            return false
        case .bytes(let data):
            let isSilent = WireHead.hasNoBody(status: answer.status)
            let text = head(isSilent ? "" : "Content-Length: \(data.count)\r\n")
            try write(Array(text.utf8) + (hasNoBody ? [] : Array(data)))
        case .sized(let length, let produce):
            try write(head("Content-Length: \(length)\r\n"))
            if !hasNoBody { try produce(.init(connection: self, isChunked: false)) }
        case .chunked(let produce):
            try write(head("Transfer-Encoding: chunked\r\n"))
            if !hasNoBody {
                try produce(.init(connection: self, isChunked: true))
                try write("0\r\n\r\n")
            }
        }
        return request.keepsConnection
    }
}

extension LoopbackServer.ReceivedRequest {
    /// Whether the connection may carry another request.
    var keepsConnection: Bool { version != "HTTP/1.0" && self["Connection"]?.lowercasedASCII() != "close" }
}

/// Returns the usual reason phrase of a status; a placeholder for unusual ones, as clients ignore the phrase.
func reasonPhrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 404: "Not Found"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    default: "Status"
    }
}
