import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore

/// An attempt of a ``FaultTransport`` that has faults.
///
/// Its own task plays the faults, and passes on the events of the other transport's attempt, which is started after the faults that
/// precede it.
final class FaultAttempt: TransportTask {
    /// A command that must reach the other attempt, in order.
    enum Command: Sendable {
        case send(Data)
        case pauseSending(Bool)
        case finish(HTTPFields?)
        case stop
    }

    /// The pauses of the other attempt.
    struct Flow: Hashable, Sendable {
        var isPaused = false
        var isSuspended = false
    }

    struct State: Sendable {
        /// The attempt of the other transport; `nil` before its start.
        var inner: (any TransportTask)?
        /// The commands that precede the start of the other attempt.
        var early: [Command] = []
        /// Whether commands are passed on at once.
        var forwards = false
        /// The pauses that the exchange wants.
        var wanted = Flow()
        /// The pauses of the other attempt, and whether a thread is about to change them.
        var applied = Flow()
        var isApplying = false
        /// The events of the other attempt that were not passed on.
        var arrived: [Event] = []
        /// The number of bytes of the response that have arrived and were not passed on.
        var backlog = 0
        /// The number of bytes of the request's body, and whether its source waits for room.
        var bodyCount = 0
        var isBodyComplete: Bool
        var owesRoom = false
        /// The number of bytes of the request's body up to which more are requested.
        var wantedBody = -1
        var hasConnected = false
        var isCancelled = false
        /// The measurements of the other attempt at its end.
        var lastReport = TransportReport()
    }

    /// The number of bytes of the response that may wait here before the other attempt is paused.
    private static let backlogLimit = 64 << 10

    let request: TransportRequest
    let faults: [Fault]
    let events: any TransportEvents
    let state: LoopbackServer.Waiters<State>
    private let transport: any Transport
    private let schedule: FaultSchedule
    private let task = Locked<Task<Void, Never>?>(nil)

    init(
        _ request: TransportRequest, faults: [Fault], events: any TransportEvents, _ transport: any Transport,
        schedule: FaultSchedule
    ) {
        self.request = request
        self.faults = faults
        self.events = events
        self.transport = transport
        self.schedule = schedule
        state = .init(State(isBodyComplete: !request.hasStreamedBody))
    }

    func begin() {
        let mayStart = faults.allSatisfy { $0.stage == .exchange && !$0.precedesResponse }
        if mayStart { startInner() }
        let work = ClockWork.beginning(of: request.callNumber) { await self.run(hasStarted: mayStart) }
        let run = Task { await work() }
        task.withLock { $0 = run }
    }

    // MARK: Playing

    private func run(hasStarted: Bool) async {
        do {
            if !hasStarted {
                try await playBeforeResponse()
                startInner()
            }
            var response = FaultedResponse(faults)
            while true {
                for event in try await arrivedEvents() {
                    guard try await deliver(event, &response) else { return }
                }
            }
        } catch let failure as TransportFailure {
            finish(failure)
        } catch is CancellationError {
            // The exchange has ended the attempt, and expects no event.
        } catch {
            finish(TransportFailure(.other("\(error)")))
        }
    }

    /// Plays the faults that precede the response, with the request's body as far as they need it.
    private func playBeforeResponse() async throws {
        if let fault = faults.first(where: \.needsTLS), !request.wire.url.isSecure {
            throw UnplayableFault(fault: fault, reason: "\(request.url) has no TLS")
        }
        for stage in [Fault.Stage.lookup, .handshake] {
            for fault in faults where fault.stage == stage {
                // With TLS 1.3 the server examines the certificate after the client's part of the handshake.
                if fault == .tls(.clientCertificateRequired) { reportConnection() }
                try await play(fault)
            }
        }
        guard faults.contains(where: \.precedesResponse) else { return }
        reportConnection()
        for fault in faults where fault.moment == .requestHead { try await play(fault) }
        let inBody = faults.compactMap { fault in fault.moment?.requestBytes.map { (count: $0, fault: fault) } }
        for (count, fault) in inBody.sorted(by: { $0.count < $1.count }) {
            if try await receiveBody(moreThan: count) { try await play(fault) }
        }
    }

    /// Performs a fault, and returns if the exchange continues after it.
    func play(_ fault: Fault) async throws {
        switch fault {
        case .latency(let duration, _): try await schedule.pause(for: duration, of: fault)
        case .silence:
            schedule.begin(fault)
            try await passage { _ in false }
        default:
            schedule.begin(fault)
            if let failure = fault.failure(isSecure: request.wire.url.isSecure) { throw failure }
        }
    }

    /// The present time on the clock.
    var elapsed: Duration { schedule.clock?.now.elapsed ?? .zero }

    /// Waits until a time on the clock; without a clock, for a duration.
    func wait(until end: Duration, after duration: Duration) async throws {
        guard let clock = schedule.clock else { return try await Task.sleep(for: duration) }
        try await clock.sleep(until: TestClock.Instant(elapsed: end))
    }

    func begin(_ fault: Fault) { schedule.begin(fault) }

    /// Waits until the state meets a condition; throws `CancellationError` when the attempt is cancelled.
    func passage(_ isOpen: @escaping @Sendable (State) -> Bool) async throws {
        try await state.wait { $0.isCancelled || isOpen($0) }
        if state.value.isCancelled { throw CancellationError() }
    }

    /// Waits for events of the other attempt, and takes them.
    private func arrivedEvents() async throws -> [Event] {
        try await passage { !$0.arrived.isEmpty }
        return state.update { state in
            defer { state.arrived = [] }
            return state.arrived
        }
    }

    /// Receives the request's body until it has more bytes, or is complete. Returns whether it has more.
    private func receiveBody(moreThan count: Int) async throws -> Bool {
        guard request.hasStreamedBody else { return request.body?.data?.count ?? 0 > count }
        let owesRoom = state.update { state in
            state.wantedBody = max(state.wantedBody, count)
            guard state.owesRoom, state.bodyCount <= count else { return false }
            state.owesRoom = false
            return true
        }
        if owesRoom { events.transportNeedsBody() }
        try await passage { $0.bodyCount > count || $0.isBodyComplete }
        return state.value.bodyCount > count
    }

    /// Reports once that the connection is ready.
    func reportConnection() {
        let isFirst = state.update { state in
            defer { state.hasConnected = true }
            return !state.hasConnected && !state.isCancelled
        }
        if isFirst { events.transportIsConnected() }
    }

    // MARK: The end

    private func finish(_ failure: TransportFailure) {
        let isCancelled = state.value.isCancelled
        leaveInner()
        if !isCancelled { events.transportDidEnd(TransportEnd(failure: failure, report: report)) }
    }

    func cancel() {
        state.update { $0.isCancelled = true }
        leaveInner()
        task.withLock { $0 }?.cancel()
    }

    /// Ends the other attempt, which has this one as the receiver of its events: the two must not keep each other alive.
    private func leaveInner() {
        guard let inner = state.value.inner else { return }
        let report = inner.report
        state.update { ($0.inner, $0.lastReport) = (nil, report) }
        inner.cancel()
    }

    // MARK: Starting the other attempt

    private func startInner() {
        let inner = transport.start(request, events: self)
        state.update { $0.inner = inner }
        applyFlow()
        while let command = nextEarlyCommand() { perform(command, on: inner) }
        if state.value.isCancelled { leaveInner() }
    }

    /// Returns the next command from before the start. After the last one, commands are passed on at once.
    private func nextEarlyCommand() -> Command? {
        state.update { state in
            guard state.early.isEmpty else { return state.early.removeFirst() }
            state.forwards = true
            return nil
        }
    }

    // MARK: Pauses

    /// Changes the pauses of the other attempt to those that the exchange and the backlog need. One thread at a time does that, so that the
    /// last change is the one that stays.
    func applyFlow() {
        while let (inner, old, new) = beginChange() {
            if old.isPaused != new.isPaused { inner.pauseReceiving(new.isPaused) }
            if old.isSuspended != new.isSuspended { inner.suspend(new.isSuspended) }
            state.update { $0.isApplying = false }
        }
    }

    private func beginChange() -> (any TransportTask, Flow, Flow)? {
        state.update { state in
            guard let inner = state.inner, !state.isApplying else { return nil }
            var flow = state.wanted
            if state.backlog > Self.backlogLimit { flow.isPaused = true }
            guard flow != state.applied else { return nil }
            defer { (state.isApplying, state.applied) = (true, flow) }
            return (inner, state.applied, flow)
        }
    }
}

extension Fault {
    /// Whether the fault happens on the connection, before the response.
    fileprivate var precedesResponse: Bool { moment == .requestHead || moment?.requestBytes != nil }
}
