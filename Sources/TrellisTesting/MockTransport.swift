import CurlEngine
public import FoundationEssentials
public import Trellis

/// A transport without a network: a closure takes the request and returns the response.
///
/// ```swift
/// let transport = MockTransport { request in
///     guard request["Authorization"] == "Bearer key" else { return MockResponse(status: 401) }
///     return request.path == "/users" ? .json(#"[{"name": "Ada"}]"#) : MockResponse(status: 404)
/// }
/// let session = Session(transport: transport)
/// ```
///
/// The closure runs in a task of its own for each attempt, which is cancelled when the attempt is. It is called when the body of
/// the request has been received completely, streamed or not: see `TransportRequest.bodyData`. The test decides how long the
/// closure takes: let it wait for a ``LoopbackServer/Gate`` or a ``TestClock``.
public final class MockTransport: Transport {
    /// A closure that makes the response to a request. A `TransportFailure` that the closure throws becomes the attempt's
    /// failure.
    public typealias Handler = @Sendable (TransportRequest) async throws -> MockResponse

    private struct Record: Sendable {
        var requests: [TransportRequest] = []
        var started = 0
        var ended = 0
        var cancelled = 0
    }

    private let handler: Handler
    private let record = LoopbackServer.Waiters(Record())

    /// Creates a transport that responds with the value that the handler returns.
    public init(_ handler: @escaping Handler) { self.handler = handler }

    /// Starts an attempt.
    public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        record.update { $0.started += 1 }
        let exchange = MockExchange(request, events: events) { [record, handler] request in
            record.update { $0.requests.append(request) }
            return try await handler(request)
        } whenEnded: { [record] wasCancelled in
            record.update { record in
                record.ended += 1
                if wasCancelled { record.cancelled += 1 }
            }
        }
        exchange.begin()
        return exchange
    }

    /// The requests that have been received completely, in that order, with their bodies in memory.
    public var requests: [TransportRequest] { record.value.requests }

    /// The number of attempts that have been started.
    public var startedCount: Int { record.value.started }

    /// The number of attempts that are under way.
    public var activeCount: Int { record.value.started - record.value.ended }

    /// The number of attempts that were cancelled before their end.
    public var cancelledCount: Int { record.value.cancelled }

    /// Waits until `count` requests, counted from the start, have been received completely.
    public func waitUntilRequested(count: Int) async throws { try await record.wait { $0.requests.count >= count } }

    /// Waits until `count` attempts, counted from the start, were cancelled.
    public func waitUntilCancelled(count: Int) async throws { try await record.wait { $0.cancelled >= count } }

    /// Waits until no attempt is under way.
    public func waitUntilIdle() async throws { try await record.wait { $0.started == $0.ended } }
}

/// The parts of a request, named as those of a ``LoopbackServer/ReceivedRequest``.
extension TransportRequest {
    /// The path of the URL, percent-encoded.
    public var path: String {
        let path = target.prefix(beforeBytes: "?")
        return path.isEmpty ? "/" : String(path)
    }

    /// The query of the URL without its question mark, percent-encoded; `nil` if the URL has none.
    public var query: String? {
        target.firstIndex(ofByte: "?").map { String(target[target.utf8.index(after: $0)...]) }
    }

    /// The value of the field with a name, in any case; `nil` if there is none. The values of several fields are joined with
    /// commas (those of `Cookie` with semicolons).
    public subscript(name: String) -> String? { headers[name] }

    /// The path and the query.
    private var target: Substring {
        let start = url.schemeMark?.upperBound ?? url.startIndex
        return url[url[start...].prefix(beforeBytes: "/?").endIndex...]
    }

    /// The body if it is in memory, as it always is in the handler of a ``MockTransport``; `nil` if the request has no body.
    public var bodyData: Data? {
        switch request.body?.source {
        case .data(let data): data
        case nil, .file, .stream, .multipart: nil
        }
    }

    /// Returns the same request with a body in memory.
    func withBody(_ data: Data) -> TransportRequest {
        var request = request
        request.body = .data(data, contentType: request.body?.contentType)
        return TransportRequest(request: request, wire: wire)
    }
}
