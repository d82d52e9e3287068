import CurlEngine
import FoundationEssentials
import HTTPTypes
import Trellis

/// An attempt of a ``CassetteTransport``: the events of a replay or of a recording, and the commands of the session under test.
final class CassetteExchange: TransportTask {
    /// A closure that plays an attempt and returns its end.
    typealias Performance = @Sendable (CassetteExchange) async throws -> TransportEnd

    private struct State: Sendable {
        var body = Data()
        /// The fields behind the body of the request; `nil` if there are none.
        var trailers: HTTPFields?
        var isBodyComplete: Bool
        var isPaused = false
        var isSuspended = false
        var isCancelled = false
    }

    let request: TransportRequest
    private let events: any TransportEvents
    private let performance: Performance
    private let state: LoopbackServer.Waiters<State>
    private let isConnected = Locked(false)
    private let task = Locked<Task<Void, Never>?>(nil)

    init(_ request: TransportRequest, events: any TransportEvents, _ performance: @escaping Performance) {
        self.request = request
        self.events = events
        self.performance = performance
        state = .init(State(isBodyComplete: !request.isSentInChunks))
    }

    /// Begins the attempt, in a task without the values of the present one: a transport that takes the place of others for the present
    /// task is this one, and does not apply to the requests that are recorded.
    func begin() {
        let run = Task.detached { await self.run() }
        task.withLock { $0 = run }
    }

    // MARK: Commands of the session

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

    func finishSending(trailers: HTTPFields) {
        state.update { ($0.trailers, $0.isBodyComplete) = (trailers, true) }
    }

    // MARK: Events

    /// Waits for the body of the request, and returns it; `nil` if there is none. A body that is sent in chunks needs a connection first.
    func requestBody() async throws -> Data? {
        guard request.isSentInChunks else {
            guard case .data(let data)? = request.source.body?.source else { return nil }
            return data
        }
        try await passage { !$0.isSuspended }
        connect()
        try await passage { $0.isBodyComplete && !$0.isSuspended }
        return state.value.body
    }

    /// The fields behind the body of the request, once ``requestBody()`` has returned; `nil` if there are none.
    var requestTrailers: HTTPFields? { state.value.trailers }

    /// Reports that the connection is ready, once.
    func connect() {
        isConnected.withLock { isConnected in
            guard !isConnected else { return }
            isConnected = true
            // Within the lock, because no other event may be earlier.
            events.transportIsConnected()
        }
    }

    func receiveInformational(_ head: ResponseHead) async throws {
        try await passage { !$0.isSuspended }
        events.transportDidReceiveInformational(head)
    }

    func receive(_ head: ResponseHead) async throws {
        try await passage { !$0.isSuspended }
        events.transportDidReceiveHead(head)
    }

    func receive(_ bytes: Data) async throws {
        guard !bytes.isEmpty else { return }
        try await passage { !$0.isPaused && !$0.isSuspended }
        [UInt8](bytes).withBytes { events.transportDidReceiveBody($0) }
    }

    /// Indicates whether the session has given the attempt up.
    var isCancelled: Bool { state.value.isCancelled }

    private func run() async {
        var end: TransportEnd
        do {
            end = try await performance(self)
            try await passage { !$0.isSuspended }
        } catch let failure as TransportFailure {
            end = TransportEnd(failure: failure)
        } catch {
            end = TransportEnd(failure: TransportFailure(.other("\(error)")))
        }
        if !isCancelled { events.transportDidEnd(end) }
    }

    /// Waits until the state meets a condition; throws `CancellationError` when the attempt is cancelled.
    private func passage(_ isOpen: @escaping @Sendable (State) -> Bool) async throws {
        try await state.wait { $0.isCancelled || isOpen($0) }
        if isCancelled { throw CancellationError() }
    }
}

extension TransportRequest {
    /// Indicates whether the body is sent in chunks, through `TransportTask.send(_:)`.
    fileprivate var isSentInChunks: Bool { if case .stream = wire.body { true } else { false } }
}
