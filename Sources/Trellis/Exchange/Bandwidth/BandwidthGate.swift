import CurlEngine

/// The gate that pauses and resumes transfers as a ``BandwidthShare`` decides. Transfers on all engines share the gate. Its timer, which is
/// set only while a transfer waits, belongs to one engine.
final class BandwidthGate: Sendable {
    private struct State {
        var share: BandwidthShare<ObjectIdentifier>
        var members: [ObjectIdentifier: ExchangeActor] = [:]
        /// The deadline for which the timer is set, or is about to be set.
        var deadline: EngineInstant?
        /// The timer, which only the thread of ``executor`` uses.
        var timer: EngineTimer?
    }

    private let executor: EngineExecutor
    private let state: Locked<State>

    init(_ limit: BandwidthLimit, executor: EngineExecutor) {
        self.executor = executor
        state = Locked(State(share: BandwidthShare(limit, at: EngineInstant(nanoseconds: 0))))
    }

    /// Adds a transfer. Returns `true` if the transfer may move bytes; otherwise it is resumed later through
    /// ``ExchangeActor/bandwidthIsGranted(by:)``.
    func join(_ request: ExchangeActor, at now: EngineInstant) -> Bool {
        change { state in
            state.members[ObjectIdentifier(request)] = request
            return state.share.join(ObjectIdentifier(request), at: now)
        }
    }

    /// Counts bytes that the transfer has moved. The result has the same meaning as that of ``join(_:at:)``.
    func spend(_ bytes: Int, by request: ExchangeActor, at now: EngineInstant) -> Bool {
        change { $0.share.spend(bytes, by: ObjectIdentifier(request), at: now) }
    }

    /// Removes a transfer that has ended.
    func leave(_ request: ExchangeActor) {
        change { state in
            guard state.members.removeValue(forKey: ObjectIdentifier(request)) != nil else { return }
            state.share.leave(ObjectIdentifier(request))
        }
    }

    /// Changes the state, and sets the timer if the next grant has another time than before.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, mustSet) = state.withLock { state in
            let result = body(&state)
            let next = state.share.nextGrant
            defer { state.deadline = next }
            return (result, next != state.deadline)
        }
        if mustSet {
            if executor.isCurrent { setTimer() } else { executor.submit { [self] in setTimer() } }
        }
        return result
    }

    private func setTimer() {
        let (timer, deadline) = state.withLock { state in
            if state.timer == nil { state.timer = EngineTimer(self) }
            return (state.timer, state.deadline)
        }
        guard let timer else { return }
        if let deadline {
            if timer.deadline != deadline { executor.engineLoop.set(timer, at: deadline) }
        } else {
            executor.engineLoop.cancel(timer)
            // The timer retains its gate.
            state.withLock { state in if state.deadline == nil { state.timer = nil } }
        }
    }

    /// Resumes the transfers whose turn it is.
    private func grant() {
        let now = executor.now
        let granted = change { state in
            // The timer has fired, and must be set again for the next grant.
            state.deadline = nil
            return state.share.grants(at: now).compactMap { state.members[$0] }
        }
        for exchange in granted {
            if exchange.executor.isCurrent {
                exchange.onEngineThread.bandwidthIsGranted(by: self)
            } else {
                exchange.submit { [self] in $0.bandwidthIsGranted(by: self) }
            }
        }
    }
}

extension BandwidthGate: EngineTimerTarget {
    func timerIsDue() { grant() }
}

/// The bandwidth that the transfers of a session share.
struct SessionBandwidth: Sendable {
    private let upload: BandwidthGate?
    private let download: BandwidthGate?

    /// Creates the gates of the limits; `nil` if there is no limit.
    init?(_ limits: BandwidthLimits, executor: EngineExecutor) {
        guard !limits.isEmpty else { return nil }
        upload = limits.upload.map { BandwidthGate($0, executor: executor) }
        download = limits.download.map { BandwidthGate($0, executor: executor) }
    }

    /// Returns the bandwidth limits that apply to a request, its own and those of its session; `nil` if there are none.
    static func flow(of request: Request, in session: SessionBandwidth?, executor: EngineExecutor) -> TransferBandwidth?
    {
        let own = SessionBandwidth(request.bandwidth, executor: executor)
        return TransferBandwidth(
            sending: [own?.upload, session?.upload].compactMap(\.self),
            receiving: [own?.download, session?.download].compactMap(\.self))
    }
}
