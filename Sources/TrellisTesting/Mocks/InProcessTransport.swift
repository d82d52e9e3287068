import CurlEngine
public import FoundationEssentials
public import HTTPTypes
@_spi(Transport) public import TrellisCore

/// A transport that calls a server in the same process, without a socket.
///
/// ```swift
/// let transport = InProcessTransport { request in
///     guard request.path == "/echo" else { return MockResponse(status: 404) }
///     return MockResponse { writer in
///         for try await chunk in request.body { try await writer.write(chunk) }
///     }
/// }
/// let session = Session(transport: transport)
/// ```
///
/// The server is any function from a request to a response, such as the `respond` of a web framework's application. It is called as soon as
/// the head of a request is there, in its own task, which is cancelled when the attempt is. Both bodies have backpressure: the
/// source of the request's body waits until the server has taken a chunk, and ``MockResponse/Writer/write(_:)-(Data)`` waits while the
/// client reads no further. The two do not wait for each other, so that a server may respond while it reads.
///
/// An error that the server throws is the failure of the attempt, not a response: a `TransportFailure` as it is, any other error with
/// a failure of kind `other`.
public final class InProcessTransport: Transport {
    /// A function that responds to a request.
    public typealias Server = @Sendable (InProcessRequest) async throws -> MockResponse

    private struct Record: Sendable {
        var started = 0
        var ended = 0
        var cancelled = 0
    }

    private let server: Server
    private let record = LoopbackServer.Waiters(Record())

    /// Creates a transport that calls a server.
    public init(_ server: @escaping Server) { self.server = server }

    /// `false`: the session asks no resolver and reads no certificates.
    @_spi(Transport) public var makesConnections: Bool { false }

    /// Starts an attempt.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        record.update { $0.started += 1 }
        let exchange = MockExchange(request, events: events, pullsBody: true) { [server] exchange in
            try await server(InProcessRequest(exchange: exchange))
        } whenEnded: { [record] wasCancelled in
            record.update { record in
                record.ended += 1
                if wasCancelled { record.cancelled += 1 }
            }
        }
        exchange.begin()
        return exchange
    }

    /// The number of attempts that have been started.
    public var startedCount: Int { record.value.started }

    /// The number of attempts that are under way.
    public var activeCount: Int {
        let record = record.value
        return record.started - record.ended
    }

    /// Waits until `count` attempts, counted from the start, were cancelled.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilCancelled(count: Int) async throws { try await record.wait { $0.cancelled >= count } }

    /// Waits until no attempt is under way.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilIdle() async throws { try await record.wait { $0.started == $0.ended } }
}

/// A request to the server of an ``InProcessTransport``.
public struct InProcessRequest: Sendable {
    let exchange: MockExchange

    /// The request as the transport got it.
    public var request: TransportRequest { exchange.request }
    /// The method.
    public var method: HTTPRequest.Method { request.method }
    /// The normalised absolute URL.
    public var url: String { request.url }
    /// The path of the URL, percent-encoded.
    public var path: String { request.path }
    /// The query of the URL without its question mark, percent-encoded; `nil` if the URL has none.
    public var query: String? { request.query }
    /// The fields, with the session's default fields.
    public var headers: HTTPFields { request.headers }
    /// The body, which is sent while the server reads it.
    public var body: InProcessBody { InProcessBody(exchange: exchange) }

    /// The value of the field with a name, in any case; `nil` if there is none. The values of several fields are joined with
    /// commas (`Cookie` with semicolons).
    public subscript(name: String) -> String? { request[name] }

    /// The head as a value of swift-http-types, with the authority of the URL and its path and query.
    public var httpRequest: HTTPRequest {
        let url = request.wire.url
        let authority = url.origin.utf8.dropFirst(url.scheme.utf8.count + 3)
        return HTTPRequest(
            method: method, scheme: url.scheme, authority: String(Substring(authority)),
            path: query.map { "\(path)?\($0)" } ?? path, headerFields: headers)
    }

    /// Sends a head with a status of 1xx, such as 100 (RFC 9110, section 10.1.1) or 103.
    ///
    /// - Throws: `CancellationError` when the exchange is over.
    public func sendInformational(status: Int, headers: HTTPFields = HTTPFields()) async throws {
        try await exchange.send(ResponseHead(status: .init(code: status), headers: headers))
    }
}

/// The body of a request to the server of an ``InProcessTransport``: a sequence of chunks, as the client sends them. A body in memory is
/// one chunk. The chunks are passed on once, so that the body has one reader.
public struct InProcessBody: AsyncSequence, Sendable {
    /// A chunk.
    public typealias Element = Data
    /// The error of a body that the client does not send to its end.
    public typealias Failure = any Error

    let exchange: MockExchange

    /// Returns an iterator over the chunks that no reader has taken.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(exchange: exchange) }

    /// The iterator over the chunks.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let exchange: MockExchange

        /// Returns the next chunk, as soon as there is one; `nil` at the end of the body.
        ///
        /// - Throws: `CancellationError` when the exchange is over; `TransportFailure` if the client has stopped sending.
        public mutating func next() async throws -> Data? { try await exchange.nextChunk() }
    }

    /// The fields after the body (RFC 9110, section 6.5); none before the end of the body.
    public var trailers: HTTPFields { exchange.trailers }

    /// Returns the rest of the body in one piece.
    ///
    /// - Parameter limit: The maximum number of bytes; a longer body is an error. There is no limit unless it is given.
    /// - Throws: `TransportFailure` if the body is longer; the errors of ``AsyncIterator/next()``.
    public func collect(upTo limit: Int = .max) async throws -> Data {
        var bytes = Data()
        for try await chunk in self {
            guard chunk.count <= limit - bytes.count else {
                throw TransportFailure(.invalidRequest(.body("it is longer than \(limit) bytes")))
            }
            bytes.append(chunk)
        }
        return bytes
    }
}
