public import FoundationEssentials
public import HTTPTypes
public import Trellis

/// What a ``MockTransport`` answers.
public struct MockResponse: Sendable {
    /// Writes a body that is made while it is received.
    public typealias BodyWriter = @Sendable (Writer) async throws -> Void

    /// The final head.
    public var head: ResponseHead
    /// The heads with a status of 1xx that come first.
    public var informational: [ResponseHead] = []
    /// The fields after the body.
    public var trailerFields: HTTPFields = [:]
    /// What the transport says it measured.
    public var report = TransportReport()
    let body: BodyWriter

    /// A response whose body is in memory.
    public init(status: Int = 200, headerFields: HTTPFields = [:], body: Data = Data()) {
        self.init(status: status, headerFields: headerFields) { writer in
            if !body.isEmpty { try await writer.write(body) }
        }
    }

    /// A response whose body is written bit by bit. An error that `body` throws ends the response where it is: a
    /// `TransportFailure` with that failure, any other with one of kind `other`.
    ///
    /// The closure decides when the body goes on: let it wait for a ``LoopbackServer/Gate`` or a ``TestClock``.
    public init(status: Int = 200, headerFields: HTTPFields = [:], writing body: @escaping BodyWriter) {
        head = ResponseHead(status: .init(code: status), headerFields: headerFields)
        self.body = body
    }

    /// A text, as UTF-8.
    public static func text(_ text: String, status: Int = 200) -> MockResponse {
        MockResponse(
            status: status, headerFields: [.contentType: "text/plain; charset=utf-8"], body: Data(text.utf8))
    }

    /// JSON, already encoded.
    public static func json(_ json: String, status: Int = 200) -> MockResponse {
        MockResponse(status: status, headerFields: [.contentType: "application/json"], body: Data(json.utf8))
    }

    /// Takes the bytes of a body.
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
