import CurlEngine

/// The gate that pauses and resumes transfers as a ``BandwidthShare`` decides. The gate lives on the engine thread, and sets a timer only
/// while a transfer waits.
actor BandwidthGate: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    private var share: BandwidthShare<ObjectIdentifier>
    private var members: [ObjectIdentifier: ExchangeActor] = [:]
    private var timer: EngineTimer?

    init(_ limit: BandwidthLimit, executor: EngineExecutor) {
        self.executor = executor
        executorReference = executor.executorReference
        share = BandwidthShare(limit, at: EngineInstant(nanoseconds: 0))
    }

    /// Adds a transfer. Returns `true` if the transfer may move bytes; otherwise it is resumed later through
    /// ``ExchangeActor/bandwidthIsGranted(by:)``.
    func join(_ request: ExchangeActor) -> Bool {
        members[ObjectIdentifier(request)] = request
        let mayGo = share.join(ObjectIdentifier(request), at: executor.now)
        setTimer()
        return mayGo
    }

    /// Counts bytes that the transfer has moved. The result has the same meaning as that of ``join(_:)``.
    func spend(_ bytes: Int, by request: ExchangeActor) -> Bool {
        let mayGoOn = share.spend(bytes, by: ObjectIdentifier(request), at: executor.now)
        if !mayGoOn { setTimer() }
        return mayGoOn
    }

    /// Removes a transfer that has ended.
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

    /// Resumes the transfers whose turn it is.
    func grant() {
        let granted = share.grants(at: executor.now)
        setTimer()
        for member in granted { members[member]?.onEngineThread.bandwidthIsGranted(by: self) }
    }
}

extension BandwidthGate: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.grant() }
}

/// The entry into a ``BandwidthGate`` from code on its engine thread. Every method traps on any other thread.
protocol BandwidthEngineCalls: AnyObject, Sendable {
    func join(_ request: ExchangeActor) -> Bool
    func spend(_ bytes: Int, by request: ExchangeActor) -> Bool
    func leave(_ request: ExchangeActor)
    func grant()
}

extension BandwidthGate: @preconcurrency BandwidthEngineCalls {
    nonisolated var onEngineThread: any BandwidthEngineCalls { self }
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
