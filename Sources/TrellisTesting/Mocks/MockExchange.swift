import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore

/// An attempt of a ``MockTransport`` or an ``InProcessTransport``, which runs in its own task.
final class MockExchange: CommandedTask {
    /// The source of the response. The body of the request comes from ``receivedBody()``, or from ``nextChunk()``.
    typealias Answer = @Sendable (MockExchange) async throws -> MockResponse

    let request: TransportRequest
    /// Whether the answer takes the body chunk by chunk, so that the source of the body waits for it.
    private let pullsBody: Bool
    /// Whether the exchange knows already that it is connected.
    private let isConnected: Bool
    private let events: any TransportEvents
    private let answer: Answer
    private let whenEnded: @Sendable (_ wasCancelled: Bool) -> Void
    let commands: AttemptCommands

    init(
        _ request: TransportRequest, events: any TransportEvents, pullsBody: Bool = false, isConnected: Bool = false,
        answer: @escaping Answer, whenEnded: @escaping @Sendable (_ wasCancelled: Bool) -> Void
    ) {
        self.request = request
        self.pullsBody = pullsBody
        self.isConnected = isConnected
        self.events = events
        self.answer = answer
        self.whenEnded = whenEnded
        commands = AttemptCommands(request)
        if pullsBody, !request.hasStreamedBody, let body = request.body?.data, !body.isEmpty {
            commands.update { $0.chunks = [body] }
        }
    }

    func begin() {
        let work = ClockWork.beginning(of: request.callNumber) { await self.run() }
        commands.run(in: Task { await work() })
    }

    // MARK: Calls of the exchange

    func send(_ chunk: Data) {
        commands.update { $0.chunks.append(chunk) }
        if !pullsBody { events.transportNeedsBody() }
    }

    var awaitsBody: Bool {
        let state = commands.value
        return !state.isBodyComplete && (!pullsBody || state.chunks.isEmpty)
    }

    // MARK: The request's body

    /// Waits for the end of the body, and returns its chunks and the fields after it.
    func receivedBody() async throws -> (chunks: [Data], trailers: HTTPFields) {
        try await commands.wait { $0.isBodyComplete && !$0.isSuspended }
        let state = commands.value
        return (state.chunks, state.trailers ?? HTTPFields())
    }

    /// Waits for the next chunk of the body, and lets its source produce another one; `nil` at the end of the body.
    ///
    /// - Throws: `CancellationError` when the exchange is over; `TransportFailure` if the exchange has stopped sending the body.
    func nextChunk() async throws -> Data? {
        try await commands.wait { !$0.isSuspended && (!$0.chunks.isEmpty || $0.isBodyComplete || $0.isBodyDropped) }
        let (chunk, isCutShort) = commands.update { state -> (Data?, Bool) in
            if !state.chunks.isEmpty { return (state.chunks.removeFirst(), false) }
            return (nil, !state.isBodyComplete)
        }
        if isCutShort { throw TransportFailure(.exchangeFailed(.send("the client sends no more of the body"))) }
        if chunk != nil, request.hasStreamedBody { events.transportNeedsBody() }
        return chunk
    }

    /// The fields after the body; none before its end.
    var trailers: HTTPFields { commands.value.trailers ?? HTTPFields() }

    // MARK: Events of the attempt

    private func run() async {
        do {
            try await commands.waitUntilResumed()
            if !isConnected { events.transportIsConnected() }
            try await respond(with: try await answer(self))
        } catch {
            end(TransportEnd(failure: TransportFailure(ofHandler: error)))
        }
    }

    private func respond(with response: MockResponse) async throws {
        guard !response.lacksConnection(for: request) else { throw TransportFailure(noWebSocketsOf: "a mock") }
        for head in response.informational { try await send(head) }
        try await commands.waitUntilResumed()
        if let connection = response.connection, let events = events as? any ConnectionTransportEvents {
            events.transportDidSwitchProtocols(response.head, connection)
        } else {
            events.transportDidReceiveHead(response.head)
        }
        guard request.allowsBody(of: response.head) else { return try await endWithoutBody(response) }
        switch response.content {
        case .data(let body): if !body.isEmpty { try await write([UInt8](body)) }
        case .writer(let write): try await write(MockResponse.Writer(exchange: self))
        }
        try await commands.waitUntilResumed()
        end(TransportEnd(trailers: commands.value.responseTrailers ?? response.trailers, report: response.report))
    }

    private func endWithoutBody(_ response: MockResponse) async throws {
        try await commands.waitUntilResumed()
        end(TransportEnd(report: response.report))
    }

    /// Sends a head with a status of 1xx.
    func send(_ informational: ResponseHead) async throws {
        try await commands.waitUntilResumed()
        events.transportDidReceiveInformational(informational)
    }

    func write(_ bytes: [UInt8]) async throws {
        try await commands.waitUntilRead()
        bytes.withBytes { events.transportDidReceiveBody($0) }
    }

    /// Sets the fields after the body of the response.
    func setTrailers(_ trailers: HTTPFields) { commands.update { $0.responseTrailers = trailers } }

    private func end(_ end: TransportEnd) {
        let wasCancelled = commands.value.isCancelled
        whenEnded(wasCancelled)
        if !wasCancelled { events.transportDidEnd(end) }
    }
}

extension TransportFailure {
    /// Returns the failure of the handshake of a WebSocket that the transport cannot play.
    init(noWebSocketsOf transport: String) {
        self.init(.other("\(transport) plays no WebSockets: test them with LoopbackServer.webSocket of TrellisTesting"))
    }

    /// Returns the failure of an attempt whose handler has thrown an error.
    init(ofHandler error: any Error) { self = error as? TransportFailure ?? TransportFailure(.other("\(error)")) }
}

extension TransportRequest {
    /// Whether the body is sent in chunks, through `TransportTask.send(_:)`.
    var hasStreamedBody: Bool { if case .stream = wire.body { true } else { false } }

    /// Returns whether a response to the request may have a body after its head.
    func allowsBody(of head: ResponseHead) -> Bool { !head.status.hasNoBody(after: method) }
}
