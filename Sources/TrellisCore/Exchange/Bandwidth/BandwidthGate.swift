import CurlEngine

/// The gate that pauses and resumes transfers as a ``BandwidthShare`` decides. Transfers on all engines share the gate.
///
/// Each engine with a waiting transfer has a timer for the next grant. The first timer to fire grants to transfers on all engines.
final class BandwidthGate: Sendable {
    private typealias Member = ObjectIdentifier

    /// The waiting transfers and the timer of one engine.
    private struct Site {
        let executor: EngineExecutor
        /// The transfers that wait for a grant.
        var waiting: Set<Member> = []
        /// The deadline of the timer, which is set or about to be set.
        var deadline: EngineInstant?
        /// The timer, which only the thread of ``executor`` uses.
        var timer: EngineTimer?
    }

    private struct State {
        var share: BandwidthShare<Member>
        var members: [Member: ExchangeActor] = [:]
        /// The engines with waiting transfers or timers.
        var sites: [Site] = []

        /// Returns the index of an engine.
        func index(of executor: EngineExecutor) -> Int? { sites.firstIndex { $0.executor === executor } }

        /// Records that a transfer waits, or no longer waits.
        mutating func record(_ member: Member, of exchange: ExchangeActor, isWaiting: Bool) {
            let executor = exchange.executor
            guard let index = index(of: executor) else {
                if isWaiting { sites.append(Site(executor: executor, waiting: [member])) }
                return
            }
            if isWaiting { sites[index].waiting.insert(member) } else { sites[index].waiting.remove(member) }
        }
    }

    private let state: Locked<State>

    init(_ limit: BandwidthLimit) {
        state = Locked(State(share: BandwidthShare(limit, at: EngineInstant(nanoseconds: 0))))
    }

    /// Adds a transfer. Returns `true` if the transfer may move bytes; otherwise it is resumed later through
    /// ``ExchangeActor/bandwidthIsGranted(by:)``.
    func join(_ request: ExchangeActor, at now: EngineInstant) -> Bool {
        change { state in
            state.members[ObjectIdentifier(request)] = request
            let isGranted = state.share.join(ObjectIdentifier(request), at: now)
            state.record(ObjectIdentifier(request), of: request, isWaiting: !isGranted)
            return isGranted
        }
    }

    /// Counts bytes that the transfer has moved. The result means the same as for ``join(_:at:)``.
    func spend(_ bytes: Int, by request: ExchangeActor, at now: EngineInstant) -> Bool {
        change { state in
            let isGranted = state.share.spend(bytes, by: ObjectIdentifier(request), at: now)
            state.record(ObjectIdentifier(request), of: request, isWaiting: !isGranted)
            return isGranted
        }
    }

    /// Removes a transfer that has ended.
    func leave(_ request: ExchangeActor) {
        change { state in
            guard state.members.removeValue(forKey: ObjectIdentifier(request)) != nil else { return }
            state.share.leave(ObjectIdentifier(request))
            state.record(ObjectIdentifier(request), of: request, isWaiting: false)
        }
    }

    /// Changes the state, and sets the timers whose deadline must change.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, executors) = state.withLock { state in
            let result = body(&state)
            let next = state.share.nextGrant
            var executors: [EngineExecutor] = []
            for index in state.sites.indices {
                let site = state.sites[index]
                let deadline = site.waiting.isEmpty ? nil : next
                guard deadline != site.deadline else { continue }
                // A timer on another engine may fire too early, and is set again then: the engine is not woken for a later deadline.
                if let old = site.deadline, deadline ?? old >= old, !site.executor.isCurrent { continue }
                state.sites[index].deadline = deadline
                executors.append(site.executor)
            }
            return (result, executors)
        }
        for executor in executors {
            if executor.isCurrent {
                setTimer(on: executor)
            } else {
                executor.submit { [self] in setTimer(on: executor) }
            }
        }
        return result
    }

    private func setTimer(on executor: EngineExecutor) {
        let (timer, deadline) = state.withLock { state -> (EngineTimer?, EngineInstant?) in
            guard let index = state.index(of: executor) else { return (nil, nil) }
            if state.sites[index].timer == nil {
                state.sites[index].timer = EngineTimer(GateTimer(gate: self, executor: executor))
            }
            return (state.sites[index].timer, state.sites[index].deadline)
        }
        guard let timer else { return }
        if let deadline {
            if timer.deadline != deadline { executor.engineLoop.set(timer, at: deadline) }
        } else {
            executor.engineLoop.cancel(timer)
            // The timer retains its gate.
            state.withLock { state in
                guard let index = state.index(of: executor), state.sites[index].deadline == nil else { return }
                state.sites.remove(at: index)
            }
        }
    }

    /// Resumes the transfers whose turn it is. Called when the timer of an engine has fired.
    fileprivate func grant(on executor: EngineExecutor) {
        let now = executor.now
        let granted = change { state in
            // The timer has fired, and must be set again for the next grant.
            if let index = state.index(of: executor) { state.sites[index].deadline = nil }
            let granted = state.share.grants(at: now).compactMap { state.members[$0] }
            for exchange in granted { state.record(ObjectIdentifier(exchange), of: exchange, isWaiting: false) }
            return granted
        }
        for exchange in granted {
            if exchange.executor.isCurrent {
                exchange.onEngineThread.bandwidthIsGranted(by: self)
            } else {
                exchange.submit { [self] in $0.bandwidthIsGranted(by: self) }
            }
        }
        // Releases the timer if no transfer waits, because gate and timer retain each other.
        setTimer(on: executor)
    }
}

/// The target of a gate's timer on one engine.
private final class GateTimer: EngineTimerTarget, Sendable {
    private let gate: BandwidthGate
    private let executor: EngineExecutor

    init(gate: BandwidthGate, executor: EngineExecutor) { (self.gate, self.executor) = (gate, executor) }

    func timerIsDue() { gate.grant(on: executor) }
}

/// The bandwidth that the transfers of a session share.
struct SessionBandwidth: Sendable {
    private let upload: BandwidthGate?
    private let download: BandwidthGate?

    /// Creates the gates of the limits; `nil` if there is no limit.
    init?(_ limits: BandwidthLimits) {
        guard !limits.isEmpty else { return nil }
        upload = limits.upload.map { BandwidthGate($0) }
        download = limits.download.map { BandwidthGate($0) }
    }

    /// Returns the bandwidth limits of a request and of its session, if any.
    static func flow(of request: Request, in session: SessionBandwidth?) -> TransferBandwidth? {
        let own = SessionBandwidth(request.bandwidth)
        return TransferBandwidth(
            sending: [own?.upload, session?.upload].compactMap(\.self),
            receiving: [own?.download, session?.download].compactMap(\.self))
    }
}
