import CurlEngine
import FoundationEssentials
import Trellis

/// An attempt of a ``MockTransport``.
final class MockExchange: TransportTask {
    private struct State: Sendable {
        var body = Data()
        var isBodyComplete: Bool
        var isPaused = false
        var isSuspended = false
        var isCancelled = false
    }

    private let request: TransportRequest
    private let events: any TransportEvents
    private let handler: MockTransport.Handler
    private let whenEnded: @Sendable (_ wasCancelled: Bool) -> Void
    private let state: LoopbackServer.Waiters<State>
    private let task = Locked<Task<Void, Never>?>(nil)

    init(
        _ request: TransportRequest, events: any TransportEvents, handler: @escaping MockTransport.Handler,
        whenEnded: @escaping @Sendable (_ wasCancelled: Bool) -> Void
    ) {
        self.request = request
        self.events = events
        self.handler = handler
        self.whenEnded = whenEnded
        state = .init(State(isBodyComplete: !request.hasStreamedBody))
    }

    func begin() {
        let run = Task { await self.run() }
        task.withLock { $0 = run }
    }

    // MARK: Calls of the exchange

    func cancel() {
        state.update { $0.isCancelled = true }
        task.withLock { $0 }?.cancel()
    }

    func pauseReceiving(_ isPaused: Bool) { state.update { $0.isPaused = isPaused } }

    func suspend(_ isSuspended: Bool) { state.update { $0.isSuspended = isSuspended } }

    func send(_ chunk: Data) {
        state.update { $0.body.append(chunk) }
        events.transportNeedsBody()
    }

    var awaitsBody: Bool { !state.value.isBodyComplete }

    func finishSending() { state.update { $0.isBodyComplete = true } }

    // MARK: Events of the attempt

    private func run() async {
        do {
            try await state.wait { !$0.isSuspended }
            events.transportIsConnected()
            try await state.wait { $0.isBodyComplete && !$0.isSuspended }
            let response = try await handler(request.hasStreamedBody ? request.withBody(state.value.body) : request)
            try await answer(with: response)
        } catch {
            end(TransportEnd(failure: error as? TransportFailure ?? TransportFailure(.other("\(error)"))))
        }
    }

    private func answer(with response: MockResponse) async throws {
        for head in response.informational {
            try await passage { !$0.isSuspended }
            events.transportDidReceiveInformational(head)
        }
        try await passage { !$0.isSuspended }
        if let connection = response.connection, let events = events as? any ConnectionTransportEvents {
            events.transportDidSwitchProtocols(response.head, connection)
        } else {
            events.transportDidReceiveHead(response.head)
        }
        try await response.body(MockResponse.Writer(exchange: self))
        try await passage { !$0.isSuspended }
        end(TransportEnd(trailers: response.trailers, report: response.report))
    }

    func write(_ bytes: Data) async throws {
        try await passage { !$0.isPaused && !$0.isSuspended }
        [UInt8](bytes).withBytes { events.transportDidReceiveBody($0) }
    }

    /// Waits until the state meets a condition; throws `CancellationError` when the attempt is cancelled.
    private func passage(_ isOpen: @escaping @Sendable (State) -> Bool) async throws {
        try await state.wait { $0.isCancelled || isOpen($0) }
        if state.value.isCancelled { throw CancellationError() }
    }

    private func end(_ end: TransportEnd) {
        let wasCancelled = state.value.isCancelled
        whenEnded(wasCancelled)
        if !wasCancelled { events.transportDidEnd(end) }
    }
}

extension TransportRequest {
    /// Indicates whether the body is sent in chunks, through `TransportTask.send(_:)`.
    var hasStreamedBody: Bool { if case .stream = wire.body { true } else { false } }
}
