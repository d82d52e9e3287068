import CurlEngine
public import FoundationEssentials
public import HTTPTypes
@_spi(Transport) public import TrellisCore

/// An attempt of a ``ScriptedTransport``, whose network is the test.
///
/// Send events one after the other. Events after the end or a cancellation are ignored.
public final class ScriptedAttempt: Sendable {
    /// A command of the exchange to its attempt.
    public enum Command: Sendable, Hashable {
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
        var commands: [Command] = []
        var events: (any TransportEvents)?
        var report = TransportReport()
        var lastActivity: EngineInstant?
        var lastSend: EngineInstant?
        var hasSentHead = false
        var awaitsBody = false
    }

    /// The request as the transport got it, without its steps and its monitors.
    public let request: TransportRequest
    private let clock: TestClock?
    private let state: LoopbackServer.Waiters<State>

    init(_ request: TransportRequest, events: any TransportEvents, clock: TestClock?) {
        // The transport keeps its attempts, which must not keep the calls.
        self.request = request.withoutCall
        self.clock = clock
        state = .init(State(events: events, awaitsBody: request.hasStreamedBody))
    }

    // MARK: Commands of the exchange

    /// The commands of the exchange so far, in order.
    public var commands: [Command] { state.value.commands }

    /// Returns the number of times that the exchange gave a command.
    public func count(of command: Command) -> Int { commands.count { $0 == command } }

    /// The part of the request's body that was sent so far.
    public var sentBody: Data {
        commands.reduce(into: Data()) { body, command in if case .send(let chunk) = command { body.append(chunk) } }
    }

    /// Waits until the exchange has given a command at least `count` times.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(for command: Command, count: Int = 1) async throws {
        try await wait { $0.count { $0 == command } >= count }
    }

    /// Waits until the commands of the exchange meet a condition.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(until condition: @escaping @Sendable ([Command]) -> Bool) async throws {
        try await state.wait { condition($0.commands) }
    }

    // MARK: TransportTask

    /// Records the command; later events are ignored.
    public func cancel() { record(.cancel) { $0.events = nil } }

    /// Records the command.
    public func pauseReceiving(_ isPaused: Bool) { record(.pauseReceiving(isPaused)) }

    /// Records the command.
    public func suspend(_ isSuspended: Bool) { record(.suspend(isSuspended)) }

    /// Records the command.
    public func send(_ chunk: Data) {
        let now = clock?.engineSide.now()
        record(.send(chunk)) { ($0.lastActivity, $0.lastSend, $0.awaitsBody) = (now, now, false) }
    }

    /// Records the command.
    public func pauseSending(_ isPaused: Bool) { record(.pauseSending(isPaused)) }

    /// Records the command.
    public func finishSending() { record(.finishSending) { $0.awaitsBody = false } }

    /// Records the command.
    public func stopSending() { record(.stopSending) { $0.awaitsBody = false } }

    /// Whether the attempt waits for a chunk of the body: from the beginning and from ``needBody()`` on, until a chunk
    /// is sent.
    public var awaitsBody: Bool { state.value.awaitsBody }

    /// The measurements that the attempt reports. Set the report before the event that makes the exchange read it.
    @_spi(Transport) public var report: TransportReport {
        get { state.value.report }
        set { state.update { $0.report = newValue } }
    }

    /// The times when bytes last moved, on the transport's clock.
    @_spi(Transport) public var activity: TransportActivity? {
        let state = state.value
        guard let last = state.lastActivity, let lastSend = state.lastSend else { return nil }
        return TransportActivity(last: last, lastSend: lastSend)
    }

    private func record(_ command: Command, _ change: @Sendable (inout State) -> Void = { _ in }) {
        state.update { state in
            state.commands.append(command)
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
    public func receiveInformational(status: Int, headers: HTTPFields = HTTPFields()) {
        received()?.transportDidReceiveInformational(
            ResponseHead(status: .init(code: status), headers: headers))
    }

    /// Reports the final head.
    ///
    /// - Parameters:
    ///   - status: The status code. The default is 200.
    ///   - headers: The fields of the head; none by default.
    ///   - version: The version of HTTP; 1.1 by default.
    public func receiveHead(status: Int = 200, headers: HTTPFields = HTTPFields(), version: HTTPVersion = .http1_1) {
        state.update { $0.hasSentHead = true }
        received()?.transportDidReceiveHead(
            ResponseHead(status: .init(code: status), headers: headers, version: version))
    }

    /// Whether the final head has been sent.
    var hasSentHead: Bool { state.value.hasSentHead }

    /// Reports bytes of the body.
    public func receiveBody(_ bytes: Data) {
        let events = received()
        [UInt8](bytes).withBytes { events?.transportDidReceiveBody($0) }
    }

    /// Reports bytes of the body: text, as UTF-8.
    public func receiveBody(_ text: String) { receiveBody(Data(text.utf8)) }

    /// Reports the end of a complete response.
    public func end(trailers: HTTPFields = HTTPFields()) {
        finish(TransportEnd(trailers: trailers, report: report))
    }

    /// Reports that the connection is ready, a head, text if there is any, and the end.
    ///
    /// - Parameters:
    ///   - text: The body, as UTF-8; `nil`, the default, if there is none.
    ///   - status: The status code. The default is 200.
    ///   - headers: The fields of the head; none by default.
    public func respond(_ text: String? = nil, status: Int = 200, headers: HTTPFields = HTTPFields()) {
        connect()
        receiveHead(status: status, headers: headers)
        if let text { receiveBody(text) }
        end()
    }

    /// Reports the failure of the attempt.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - isConnectionFailure: Whether the connection failed, and not this request on the connection.
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

@_spi(Transport) extension ScriptedAttempt: TransportTask {}
