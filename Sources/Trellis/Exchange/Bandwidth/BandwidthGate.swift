import CurlEngine

/// Lets transfers go on as a ``BandwidthShare`` says, at its own times. Lives on the engine thread, and has a timer only while
/// somebody waits.
actor BandwidthGate: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let residence: EngineResidence
    private var share: BandwidthShare<ObjectIdentifier>
    private var members: [ObjectIdentifier: ExchangeActor] = [:]
    private var timer: EngineTimer?

    init(_ limit: BandwidthLimit, executor: EngineExecutor) {
        self.executor = executor
        residence = executor.residence
        share = BandwidthShare(limit, at: EngineInstant(nanoseconds: 0))
    }

    /// `true`: the transfer may move bytes; otherwise it hears of it through ``ExchangeEntry/bandwidthIsGranted(by:)``.
    func join(_ request: ExchangeActor) -> Bool {
        members[ObjectIdentifier(request)] = request
        let mayGo = share.join(ObjectIdentifier(request), at: executor.now)
        setTimer()
        return mayGo
    }

    /// The transfer has moved bytes. The result is as for ``join(_:)``.
    func spend(_ bytes: Int, by request: ExchangeActor) -> Bool {
        let mayGoOn = share.spend(bytes, by: ObjectIdentifier(request), at: executor.now)
        if !mayGoOn { setTimer() }
        return mayGoOn
    }

    /// The transfer is over.
    func leave(_ request: ExchangeActor) {
        guard members.removeValue(forKey: ObjectIdentifier(request)) != nil else { return }
        share.leave(ObjectIdentifier(request))
        setTimer()
    }

    private func setTimer() {
        guard let next = share.nextGrant else {
            if let timer { executor.engineLoop.cancel(timer) }
            timer = nil
            return
        }
        let timer = timer ?? EngineTimer(self)
        self.timer = timer
        if timer.deadline != next { executor.engineLoop.set(timer, at: next) }
    }

    func grant() {
        let granted = share.grants(at: executor.now)
        setTimer()
        for member in granted { members[member]?.onEngineThread.bandwidthIsGranted(by: self) }
    }
}

extension BandwidthGate: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.grant() }
}

/// How a gate is entered from code that runs on its engine thread anyway. Every call traps on any other thread.
protocol BandwidthEntry: AnyObject, Sendable {
    func join(_ request: ExchangeActor) -> Bool
    func spend(_ bytes: Int, by request: ExchangeActor) -> Bool
    func leave(_ request: ExchangeActor)
    func grant()
}

extension BandwidthGate: @preconcurrency BandwidthEntry {
    nonisolated var onEngineThread: any BandwidthEntry { self }
}
