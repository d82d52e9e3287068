import CurlEngine
public import FoundationEssentials
public import HTTPTypes
public import Trellis

/// One attempt of a ``ScriptedTransport``: the test plays the network with it.
///
/// Send events one after the other. After the end or a cancellation they go nowhere.
public final class ScriptedAttempt: TransportTask {
    /// What the exchange asked.
    public enum Call: Sendable, Hashable {
        /// `cancel()`.
        case cancel
        /// `pauseReceiving(_:)`.
        case pauseReceiving(Bool)
        /// `suspend(_:)`.
        case suspend(Bool)
        /// `send(_:)`.
        case send(Data)
        /// `pauseSending(_:)`.
        case pauseSending(Bool)
        /// `finishSending()`.
        case finishSending
        /// `stopSending()`.
        case stopSending
    }

    private struct State: Sendable {
        var calls: [Call] = []
        var events: (any TransportEvents)?
        var report = TransportReport()
        var lastActivity: EngineInstant?
        var lastSend: EngineInstant?
        var hasSentHead = false
        var awaitsBody = false
    }

    /// The request as the transport got it.
    public let request: TransportRequest
    private let clock: TestClock?
    private let state: LoopbackServer.Waiters<State>

    init(_ request: TransportRequest, events: any TransportEvents, clock: TestClock?) {
        self.request = request
        self.clock = clock
        state = .init(State(events: events, awaitsBody: request.hasStreamedBody))
    }

    // MARK: What the exchange asked

    /// What the exchange asked so far, in order.
    public var calls: [Call] { state.value.calls }

    /// How often the exchange asked for something.
    public func count(of call: Call) -> Int { calls.count { $0 == call } }

    /// The body of the request, as far as it was sent.
    public var sentBody: Data {
        calls.reduce(into: Data()) { body, call in if case .send(let chunk) = call { body.append(chunk) } }
    }

    /// Returns when the exchange has asked for this, at least so often.
    public func wait(for call: Call, count: Int = 1) async throws {
        try await wait { $0.count { $0 == call } >= count }
    }

    /// Returns when what the exchange has asked for meets the condition.
    public func wait(until condition: @escaping @Sendable ([Call]) -> Bool) async throws {
        try await state.wait { condition($0.calls) }
    }

    // MARK: TransportTask

    /// Records the call; no event goes anywhere after it.
    public func cancel() { note(.cancel) { $0.events = nil } }

    /// Records the call.
    public func pauseReceiving(_ isPaused: Bool) { note(.pauseReceiving(isPaused)) }

    /// Records the call.
    public func suspend(_ isSuspended: Bool) { note(.suspend(isSuspended)) }

    /// Records the call.
    public func send(_ chunk: Data) {
        let now = clock?.engineSide.now()
        note(.send(chunk)) { ($0.lastActivity, $0.lastSend, $0.awaitsBody) = (now, now, false) }
    }

    /// Records the call.
    public func pauseSending(_ isPaused: Bool) { note(.pauseSending(isPaused)) }

    /// Records the call.
    public func finishSending() { note(.finishSending) { $0.awaitsBody = false } }

    /// Records the call.
    public func stopSending() { note(.stopSending) { $0.awaitsBody = false } }

    /// From the beginning and from ``needBody()`` on, until a chunk comes.
    public var awaitsBody: Bool { state.value.awaitsBody }

    /// What the attempt says it measured. Set it before the event that makes the exchange look.
    public var report: TransportReport {
        get { state.value.report }
        set { state.update { $0.report = newValue } }
    }

    /// When bytes last moved, on the transport's clock.
    public var activity: TransportActivity? {
        let state = state.value
        guard let last = state.lastActivity, let lastSend = state.lastSend else { return nil }
        return TransportActivity(last: last, lastSend: lastSend)
    }

    private func note(_ call: Call, _ change: @Sendable (inout State) -> Void = { _ in }) {
        state.update { state in
            state.calls.append(call)
            change(&state)
        }
    }

    // MARK: What the test sends

    /// The connection is ready.
    public func connect() {
        let now = clock?.engineSide.now()
        state.update { ($0.lastActivity, $0.lastSend) = (now, now) }
        state.value.events?.transportIsConnected()
    }

    /// There is room for more of the request's body.
    public func needBody() {
        state.update { $0.awaitsBody = true }
        state.value.events?.transportNeedsBody()
    }

    /// A head with a status of 1xx has come.
    public func receiveInformational(status: Int, headerFields: HTTPFields = [:]) {
        received()?.transportDidReceiveInformational(
            ResponseHead(status: .init(code: status), headerFields: headerFields))
    }

    /// The final head has come.
    public func receiveHead(status: Int = 200, headerFields: HTTPFields = [:], version: HTTPVersion = .http1_1) {
        state.update { $0.hasSentHead = true }
        received()?.transportDidReceiveHead(
            ResponseHead(status: .init(code: status), headerFields: headerFields, version: version))
    }

    /// Whether the final head has been sent.
    var hasSentHead: Bool { state.value.hasSentHead }

    /// Bytes of the body have come.
    public func receiveBody(_ bytes: Data) {
        let events = received()
        [UInt8](bytes).withBytes { events?.transportDidReceiveBody($0) }
    }

    /// Bytes of the body have come: text, as UTF-8.
    public func receiveBody(_ text: String) { receiveBody(Data(text.utf8)) }

    /// The response is whole.
    public func end(trailerFields: HTTPFields = [:]) {
        finish(TransportEnd(trailerFields: trailerFields, report: report))
    }

    /// The attempt has failed.
    ///
    /// - Parameter isOfConnection: It was the connection that failed, not this request on it.
    public func fail(_ reason: TrellisError.Reason, isOfConnection: Bool = false) {
        var failure = TransportFailure(reason)
        failure.isOfConnection = isOfConnection
        finish(TransportEnd(failure: failure, report: report))
    }

    private func received() -> (any TransportEvents)? {
        let now = clock?.engineSide.now()
        return state.update { state in
            state.lastActivity = now
            if state.lastSend == nil { state.lastSend = now }
            return state.events
        }
    }

    private func finish(_ end: TransportEnd) {
        let events = state.update { state in
            defer { state.events = nil }
            return state.events
        }
        events?.transportDidEnd(end)
    }
}
