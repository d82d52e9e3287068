public import FoundationEssentials
public import HTTPTypes
public import Trellis

/// The response of a ``MockTransport``.
public struct MockResponse: Sendable {
    /// A closure that writes a body while the body is received.
    public typealias BodyWriter = @Sendable (Writer) async throws -> Void

    /// The final head.
    public var head: ResponseHead
    /// The heads with a status of 1xx that precede the final head.
    public var informational: [ResponseHead] = []
    /// The fields after the body.
    public var trailers: HTTPFields = HTTPFields()
    /// The measurements that the transport reports.
    public var report = TransportReport()
    let body: BodyWriter
    /// The connection on which the server has switched protocols; `nil` if it has not.
    private(set) var connection: (any DuplexConnection)?

    /// Creates a response whose body is in memory.
    public init(status: Int = 200, headers: HTTPFields = HTTPFields(), body: Data = Data()) {
        self.init(status: status, headers: headers) { writer in
            if !body.isEmpty { try await writer.write(body) }
        }
    }

    /// Creates a response whose body is written bit by bit. An error that `body` throws ends the response at that point: a
    /// `TransportFailure` with that failure, any other error with a failure of kind `other`.
    ///
    /// The closure decides when the body continues: let it wait for a ``LoopbackServer/Gate`` or a ``TestClock``.
    public init(status: Int = 200, headers: HTTPFields = HTTPFields(), writing body: @escaping BodyWriter) {
        head = ResponseHead(status: .init(code: status), headers: headers)
        self.body = body
    }

    /// Creates a response of status 101, after which the server speaks another protocol on a connection.
    ///
    /// - Parameter isOver: Returns when the connection has ended, which ends the exchange.
    package init(
        switchingTo connection: any DuplexConnection, headers: HTTPFields = HTTPFields(),
        isOver: @escaping @Sendable () async throws -> Void
    ) {
        self.init(status: 101, headers: headers) { _ in try await isOver() }
        self.connection = connection
    }

    /// Returns a response with text, as UTF-8.
    public static func text(_ text: String, status: Int = 200) -> MockResponse {
        MockResponse(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"], body: Data(text.utf8))
    }

    /// Returns a response with JSON, already encoded.
    public static func json(_ json: String, status: Int = 200) -> MockResponse {
        MockResponse(status: status, headers: [.contentType: "application/json"], body: Data(json.utf8))
    }

    /// A writer of the bytes of a body.
    public struct Writer: Sendable {
        let exchange: MockExchange

        /// Writes bytes, once the reader is ready for more.
        ///
        /// - Throws: `CancellationError` when the exchange is over.
        public func write(_ bytes: Data) async throws { try await exchange.write(bytes) }

        /// Writes text, as UTF-8.
        public func write(_ text: String) async throws { try await write(Data(text.utf8)) }
    }
}
