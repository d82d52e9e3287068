import CurlEngine
public import FoundationEssentials
public import HTTPTypes
public import Trellis

/// An attempt of a ``ScriptedTransport``, in which the test acts as the network.
///
/// Send events one after the other. Events after the end or a cancellation are ignored.
public final class ScriptedAttempt: TransportTask {
    /// A call of the exchange to its attempt.
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

    // MARK: Calls of the exchange

    /// The calls of the exchange so far, in order.
    public var calls: [Call] { state.value.calls }

    /// Returns the number of times that the exchange made a call.
    public func count(of call: Call) -> Int { calls.count { $0 == call } }

    /// The part of the request's body that was sent so far.
    public var sentBody: Data {
        calls.reduce(into: Data()) { body, call in if case .send(let chunk) = call { body.append(chunk) } }
    }

    /// Returns when the exchange has made this call, at least `count` times.
    public func wait(for call: Call, count: Int = 1) async throws {
        try await wait { $0.count { $0 == call } >= count }
    }

    /// Returns when the calls of the exchange meet the condition.
    public func wait(until condition: @escaping @Sendable ([Call]) -> Bool) async throws {
        try await state.wait { condition($0.calls) }
    }

    // MARK: TransportTask

    /// Records the call; later events are ignored.
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

    /// Indicates whether the attempt waits for a chunk of the body: from the beginning and from ``needBody()`` on, until a chunk
    /// comes.
    public var awaitsBody: Bool { state.value.awaitsBody }

    /// The measurements that the attempt reports. Set the report before the event that makes the exchange read it.
    public var report: TransportReport {
        get { state.value.report }
        set { state.update { $0.report = newValue } }
    }

    /// The times at which bytes last moved, on the transport's clock.
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

    // MARK: Events from the test

    /// Reports that the connection is ready.
    public func connect() {
        let now = clock?.engineSide.now()
        state.update { ($0.lastActivity, $0.lastSend) = (now, now) }
        state.value.events?.transportIsConnected()
    }

    /// Reports that there is room for more of the request's body.
    public func needBody() {
        state.update { $0.awaitsBody = true }
        state.value.events?.transportNeedsBody()
    }

    /// Reports a head with a status of 1xx.
    public func receiveInformational(status: Int, headers: HTTPFields = [:]) {
        received()?.transportDidReceiveInformational(
            ResponseHead(status: .init(code: status), headers: headers))
    }

    /// Reports the final head.
    public func receiveHead(status: Int = 200, headers: HTTPFields = [:], version: HTTPVersion = .http1_1) {
        state.update { $0.hasSentHead = true }
        received()?.transportDidReceiveHead(
            ResponseHead(status: .init(code: status), headers: headers, version: version))
    }

    /// Indicates whether the final head has been sent.
    var hasSentHead: Bool { state.value.hasSentHead }

    /// Reports bytes of the body.
    public func receiveBody(_ bytes: Data) {
        let events = received()
        [UInt8](bytes).withBytes { events?.transportDidReceiveBody($0) }
    }

    /// Reports bytes of the body: text, as UTF-8.
    public func receiveBody(_ text: String) { receiveBody(Data(text.utf8)) }

    /// Reports the end of a complete response.
    public func end(trailers: HTTPFields = [:]) {
        finish(TransportEnd(trailers: trailers, report: report))
    }

    /// Reports the failure of the attempt.
    ///
    /// - Parameter isConnectionFailure: Whether the connection failed, and not this request on the connection.
    public func fail(_ reason: TrellisError.Reason, isConnectionFailure: Bool = false) {
        var failure = TransportFailure(reason)
        failure.isConnectionFailure = isConnectionFailure
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
