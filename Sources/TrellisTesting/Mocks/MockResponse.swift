import CurlEngine
public import FoundationEssentials
public import HTTPTypes
@_spi(Transport) public import TrellisCore

/// The response of a ``MockTransport``, a ``MockRouter`` or an ``InProcessTransport``.
///
/// As over a socket, the response to a `HEAD` request has no body and no trailers, and neither has one with the status 204 or 304
/// (RFC 9112, section 6.3). The value's are dropped, and a closure that writes a body is not called; the fields stay as they are.
///
/// A response can refuse the handshake of a WebSocket, but not accept it: one of status 101 is an error. ``LoopbackServer`` has WebSockets.
public struct MockResponse: Sendable {
    /// A closure that writes a body while the body is received.
    public typealias BodyWriter = @Sendable (Writer) async throws -> Void

    /// The body.
    enum Content: Sendable {
        case data(Data)
        case writer(BodyWriter)
    }

    /// The parts that most responses do not have.
    private struct Extras: Sendable {
        var informational: [ResponseHead] = []
        var trailers = HTTPFields()
        var report = TransportReport()
        var connection: (any DuplexConnection)?
    }

    /// The final head.
    public var head: ResponseHead
    let content: Content
    /// The other parts, if there are any. A response without them is small, because it is passed on often.
    private var box: Boxed<Extras>?

    /// The heads with a status of 1xx that precede the final head.
    public var informational: [ResponseHead] {
        get { box?.value.informational ?? [] }
        set { change { $0.informational = newValue } }
    }

    /// The fields after the body.
    public var trailers: HTTPFields {
        get { box?.value.trailers ?? HTTPFields() }
        set { change { $0.trailers = newValue } }
    }

    /// The measurements that the transport reports.
    @_spi(Transport) public var report: TransportReport {
        get { box?.value.report ?? TransportReport() }
        set { change { $0.report = newValue } }
    }

    /// The connection after the server has switched protocols; `nil` if it has not.
    var connection: (any DuplexConnection)? { box?.value.connection }

    /// Returns whether the response accepts the handshake of a WebSocket, and has no connection for its messages.
    func lacksConnection(for request: TransportRequest) -> Bool {
        head.status == .switchingProtocols && request.wire.switchesProtocols && connection == nil
    }

    private mutating func change(_ body: (inout Extras) -> Void) {
        var extras = box?.value ?? Extras()
        body(&extras)
        box = Boxed(extras)
    }

    /// Creates a response whose body is in memory.
    public init(status: Int = 200, headers: HTTPFields = HTTPFields(), body: Data = Data()) {
        self.init(ResponseHead(status: .init(code: status), headers: headers), .data(body))
    }

    /// Creates a response whose body is written bit by bit. An error that `body` throws ends the response at that point: a
    /// `TransportFailure` with that failure, any other error with a failure of kind `other`.
    ///
    /// The closure decides when the body continues: let it wait for a ``LoopbackServer/Gate`` or a ``TestClock``.
    ///
    /// - Parameters:
    ///   - status: The status code. The default is 200.
    ///   - headers: The fields of the head; none by default.
    ///   - body: The closure that writes the body.
    public init(status: Int = 200, headers: HTTPFields = HTTPFields(), writing body: @escaping BodyWriter) {
        self.init(ResponseHead(status: .init(code: status), headers: headers), .writer(body))
    }

    private init(_ head: ResponseHead, _ content: Content) {
        self.head = head
        self.content = content
    }

    /// Creates a response of status 101, after which the server speaks another protocol on a connection.
    ///
    /// - Parameter isOver: Returns when the connection has ended, which ends the exchange.
    package init(
        switchingTo connection: any DuplexConnection, headers: HTTPFields = HTTPFields(),
        isOver: @escaping @Sendable () async throws -> Void
    ) {
        self.init(status: 101, headers: headers) { _ in try await isOver() }
        change { $0.connection = connection }
    }

    /// Creates a response from fields in text, such as `["Link": "</users?page=2>; rel=next"]`. The field of an invalid name makes the
    /// response fail when it is sent.
    @_disfavoredOverload
    public init(status: Int = 200, headers: KeyValuePairs<String, String>, body: Data = Data()) {
        self.init(status: status, headers: HTTPFields(), .data(body), headers)
    }

    /// Creates a response from fields in text, whose body is written bit by bit. The field of an invalid name makes the response fail when
    /// it is sent.
    @_disfavoredOverload
    public init(status: Int = 200, headers: KeyValuePairs<String, String>, writing body: @escaping BodyWriter) {
        self.init(status: status, headers: HTTPFields(), .writer(body), headers)
    }

    private init(status: Int, headers: HTTPFields, _ content: Content, _ texts: KeyValuePairs<String, String>) {
        guard !texts.isEmpty else {
            self.init(ResponseHead(status: .init(code: status), headers: headers), content)
            return
        }
        var (headers, content) = (headers, content)
        for name in texts.compactMap({ HTTPField.Name($0.key) }) { headers[name] = nil }
        for (text, value) in texts {
            guard let name = HTTPField.Name(text) else {
                content = .writer { _ in throw TransportFailure(.other("a mock's field has an invalid name: \(text)")) }
                break
            }
            headers.append(HTTPField(name: name, value: value))
        }
        self.init(ResponseHead(status: .init(code: status), headers: headers), content)
    }

    /// Returns a response with text, as UTF-8.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - status: The status code. The default is 200.
    ///   - headers: Further fields, such as `["ETag": "\"1\""]`. A `Content-Type` replaces `text/plain; charset=utf-8`.
    public static func text(
        _ text: String, status: Int = 200, headers: KeyValuePairs<String, String> = [:]
    ) -> MockResponse {
        MockResponse(status: status, headers: textHeaders, .data(Data(copying: text.utf8.span)), headers)
    }

    /// Returns a response with JSON, already encoded.
    ///
    /// - Parameters:
    ///   - json: The JSON.
    ///   - status: The status code. The default is 200.
    ///   - headers: Further fields, such as `["Link": "</users?page=2>; rel=next"]`. A `Content-Type` replaces
    ///     `application/json`.
    public static func json(
        _ json: String, status: Int = 200, headers: KeyValuePairs<String, String> = [:]
    ) -> MockResponse {
        MockResponse(status: status, headers: jsonHeaders, .data(Data(copying: json.utf8.span)), headers)
    }

    private static let textHeaders: HTTPFields = [.contentType: "text/plain; charset=utf-8"]
    private static let jsonHeaders: HTTPFields = [.contentType: "application/json"]

    /// Sends the response at once, if its body is in memory. Returns `false`, and sends nothing, if it is not.
    ///
    /// - Parameters:
    ///   - request: The request, which may be one whose response has no body.
    ///   - willEnd: Called before the last event.
    func sendAtOnce(
        to events: any TransportEvents, for request: TransportRequest, willEnd: () -> Void
    ) -> Bool {
        guard case .data(let body) = content, !lacksConnection(for: request) else { return false }
        // Not copied out of its box: most responses have none.
        if let box {
            guard box.value.connection == nil else { return false }
            for head in box.value.informational { events.transportDidReceiveInformational(head) }
        }
        events.transportDidReceiveHead(head)
        let hasBody = request.allowsBody(of: head)
        if hasBody, !body.isEmpty { events.transportDidReceiveBody(chunk: body) }
        willEnd()
        var end = TransportEnd()
        if let box {
            if hasBody { end.trailers = box.value.trailers }
            end.report = box.value.report
        }
        events.transportDidEnd(end)
        return true
    }

    /// A writer of the bytes of a body.
    public struct Writer: Sendable {
        let exchange: MockExchange

        /// Writes bytes, once the reader is ready for more.
        ///
        /// - Throws: `CancellationError` when the exchange is over.
        public func write(_ bytes: Data) async throws { try await exchange.write([UInt8](bytes)) }

        /// Writes text, as UTF-8.
        ///
        /// - Throws: `CancellationError` when the exchange is over.
        public func write(_ text: String) async throws { try await exchange.write([UInt8](text.utf8)) }

        /// Sets the fields after the body (RFC 9110, section 6.5), instead of ``MockResponse/trailers``. They are sent when the closure
        /// that writes the body returns.
        public func setTrailers(_ trailers: HTTPFields) { exchange.setTrailers(trailers) }
    }
}
