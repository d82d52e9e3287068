import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) public import TrellisCore

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
/// The closure runs in its own task for each attempt, which is cancelled when the attempt is. It is called when the body of
/// the request has been received completely, streamed or not: its `body?.data` has the bytes. The test decides how long the
/// closure takes: let it wait for a ``LoopbackServer/Gate`` or a ``TestClock``.
///
/// The session chooses proxies, asks its resolver and reads the files of certificates as for a network, so that tests of these need none
/// either. Where they would be in the way, use a ``MockRouter`` or an ``InProcessTransport``.
///
/// A closure that returns at once needs no task (``immediate(_:)``). A server that reads the body while it responds is an
/// ``InProcessTransport``, and a list of expected requests is a ``MockRouter``.
public final class MockTransport: Transport {
    /// A closure that makes the response to a request. A `TransportFailure` that the closure throws becomes the attempt's
    /// failure.
    public typealias Handler = @Sendable (TransportRequest) async throws -> MockResponse
    /// A handler that does not wait.
    public typealias ImmediateHandler = @Sendable (TransportRequest) throws -> MockResponse

    /// The reaction to a request, which may be a response that needs a task.
    enum Reaction: Sendable {
        case response(MockResponse)
        case failure(any Error)
        case waiting(@Sendable () async throws -> MockResponse)
    }

    /// A closure that returns the reaction to a complete request.
    typealias Deciding = @Sendable (RecordedRequest) -> Reaction

    private struct Record: Sendable {
        var requests: [RecordedRequest] = []
        var started = 0
        var ended = 0
        var cancelled = 0

        /// Adds a request with its complete body, which has no call.
        @discardableResult
        mutating func add(
            _ request: TransportRequest, chunks: [Data]? = nil, trailers: HTTPFields = HTTPFields()
        ) -> RecordedRequest {
            let recorded = RecordedRequest(requests.count + 1, request, chunks: chunks, trailers: trailers)
            requests.append(recorded)
            return recorded
        }
    }

    /// How requests are handled.
    private enum Handling: Sendable {
        /// Each attempt has a task, which calls the handler.
        case inTask(Handler)
        /// The reaction is found when the request is complete, and has a task only if it needs one.
        case atOnce(Deciding)
        /// The handler is called when the request is complete, and needs no task.
        case immediate(ImmediateHandler)
    }

    private let handling: Handling
    private let record = LoopbackServer.Waiters(Record())

    /// Creates a transport that responds with the value that the handler returns.
    public init(_ handler: @escaping Handler) { handling = .inTask(handler) }

    /// Creates a transport that reacts to each request as the closure decides, on the engine thread of the session.
    init(deciding decide: @escaping Deciding) { handling = .atOnce(decide) }

    private init(_ handling: Handling) { self.handling = handling }

    /// Creates a transport whose handler does not wait, and is called without a task. It is many times as fast, for tests with
    /// many requests.
    ///
    /// The handler runs on the engine thread of the session unless the body of the request is streamed, and must not block.
    public static func immediate(_ handler: @escaping ImmediateHandler) -> MockTransport {
        MockTransport(.immediate(handler))
    }

    /// The mock of the present test: from the innermost ``withTransport(_:_:)-(Transport,_)`` or trait, also inside of a
    /// ``FaultTransport``; `nil` if there is none, or it has another transport.
    public static var current: MockTransport? { TransportOverride.current?.transport.innermost as? MockTransport }

    /// Starts an attempt.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        switch handling {
        case .inTask(let handler): startTask(request, events) { try await handler($0.request) }
        case .atOnce(let decide) where request.hasStreamedBody:
            startTask(request, events) { try await decide($0).response() }
        case .atOnce(let decide): startAtOnce(request, events, decide: decide)
        case .immediate(let handler) where request.hasStreamedBody:
            startTask(request, events) { try handler($0.request) }
        case .immediate(let handler): startImmediately(request, events, handler: handler)
        }
    }

    /// Starts an attempt in a task, which waits for the request's body.
    private func startTask(
        _ request: TransportRequest, _ events: any TransportEvents,
        respond: @escaping @Sendable (RecordedRequest) async throws -> MockResponse
    ) -> MockExchange {
        record.update { $0.started += 1 }
        return run(request, events) { [record] exchange in
            let (chunks, trailers) = try await exchange.receivedBody()
            guard request.hasStreamedBody else {
                let kept = request.withoutCall
                return try await respond(record.update { $0.add(kept) })
            }
            let whole = request.withoutCall.withBody(Data(chunks.joined()))
            return try await respond(record.update { $0.add(whole, chunks: chunks, trailers: trailers) })
        }
    }

    /// Reacts to a request whose body is in memory.
    private func startAtOnce(
        _ request: TransportRequest, _ events: any TransportEvents, decide: Deciding
    ) -> any TransportTask {
        events.transportIsConnected()
        let kept = request.withoutCall
        let recorded = record.update { record in
            record.started += 1
            return record.add(kept)
        }
        switch decide(recorded) {
        case .response(let response): return send(response, to: request, events)
        case .failure(let error): return fail(error, events)
        case .waiting(let make): return run(request, events, isConnected: true) { _ in try await make() }
        }
    }

    /// Responds to a request whose body is in memory. Everything is done without a task, and without the values that a reaction with one
    /// needs.
    private func startImmediately(
        _ request: TransportRequest, _ events: any TransportEvents, handler: ImmediateHandler
    ) -> any TransportTask {
        events.transportIsConnected()
        let kept = request.withoutCall
        record.update { record in
            record.started += 1
            record.add(kept)
        }
        do { return send(try handler(kept), to: request, events) } catch { return fail(error, events) }
    }

    /// Sends a response at once if its body is in memory, and otherwise in a task.
    private func send(
        _ response: MockResponse, to request: TransportRequest, _ events: any TransportEvents
    ) -> any TransportTask {
        let isSent = response.sendAtOnce(to: events, for: request) { attemptEnded(false) }
        if isSent { return EndedTask.shared }
        return run(request, events, isConnected: true) { _ in response }
    }

    private func fail(_ error: any Error, _ events: any TransportEvents) -> any TransportTask {
        attemptEnded(false)
        events.transportDidEnd(TransportEnd(failure: TransportFailure(ofHandler: error)))
        return EndedTask.shared
    }

    /// Runs an attempt in a task.
    private func run(
        _ request: TransportRequest, _ events: any TransportEvents, isConnected: Bool = false,
        answer: @escaping MockExchange.Answer
    ) -> MockExchange {
        let exchange = MockExchange(request, events: events, isConnected: isConnected, answer: answer) {
            [record] wasCancelled in
            Self.attemptEnded(wasCancelled, record)
        }
        exchange.begin()
        return exchange
    }

    private func attemptEnded(_ wasCancelled: Bool) { Self.attemptEnded(wasCancelled, record) }

    private static func attemptEnded(_ wasCancelled: Bool, _ record: LoopbackServer.Waiters<Record>) {
        record.update { record in
            record.ended += 1
            if wasCancelled { record.cancelled += 1 }
        }
    }

    /// The requests that have been received completely, in that order, with their bodies in memory.
    public var requests: [TransportRequest] { record.value.requests.map(\.request) }

    /// The same requests with their numbers, the chunks of their bodies and the fields after them.
    public var recordedRequests: [RecordedRequest] { record.value.requests }

    /// The number of attempts that have been started.
    public var startedCount: Int { record.value.started }

    /// The number of attempts that are under way.
    public var activeCount: Int {
        let record = record.value
        return record.started - record.ended
    }

    /// The number of attempts that were cancelled before their end.
    public var cancelledCount: Int { record.value.cancelled }

    /// Waits until `count` requests, counted from the start, have been received completely.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilRequested(count: Int) async throws { try await record.wait { $0.requests.count >= count } }

    /// Waits until `count` attempts, counted from the start, were cancelled.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilCancelled(count: Int) async throws { try await record.wait { $0.cancelled >= count } }

    /// Waits until no attempt is under way.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilIdle() async throws { try await record.wait { $0.started == $0.ended } }
}

extension MockTransport.Reaction {
    /// Returns the response, or throws the failure.
    fileprivate func response() async throws -> MockResponse {
        switch self {
        case .response(let response): response
        case .failure(let error): throw error
        case .waiting(let make): try await make()
        }
    }
}

/// The task of an attempt that has ended when it was started.
final class EndedTask: TransportTask {
    static let shared = EndedTask()

    func cancel() {}
    func pauseReceiving(_ isPaused: Bool) {}
    func suspend(_ isSuspended: Bool) {}
    func send(_ chunk: Data) {}
    func finishSending() {}
}

extension TransportRequest {
    /// The value of the field with a name, in any case; `nil` if there is none. The values of several fields are joined with
    /// commas (`Cookie` with semicolons).
    public subscript(name: String) -> String? { headers[name] }

    /// Returns the same request with a body in memory.
    func withBody(_ data: Data) -> TransportRequest {
        var request = request
        request.body = .data(data, contentType: request.body?.contentType)
        return TransportRequest(request: request, wire: wire)
    }
}
