import CurlEngine

/// The policy that decides how many engines of a session get new requests, as a value.
///
/// An engine is added after every engine has been busy for several samples in succession, if processors have been idle meanwhile: without
/// idle processor time, the engines, the server and the application would only compete for the processors. An engine is taken away after
/// the others could easily have done its work for a longer time.
struct EngineScaling {
    /// The share of the time that the engines may be busy on average after one of them is taken away.
    static let calmShare = 0.5
    /// The number of samples of each engine in succession that lead to another engine.
    static let busySamples = 3
    /// The number of samples of each engine in succession that lead to one engine less.
    static let calmSamples = 30
    /// The number of periods of busy samples in succession with idle processors that lead to another engine. With twice as many idle
    /// processors, one period is enough. A single period with just enough may be chance, and the engine is kept while there is load.
    static let idlePeriods = 3
    /// The time after which a sample no longer counts: an engine that sleeps makes no samples.
    static let lifetime = Duration.milliseconds(300)

    /// The maximum number of engines.
    let maximum: Int
    /// The share of the time from which an engine counts as busy.
    let busyShare: Double
    /// The number of idle processors from which an engine is added.
    let idleProcessors: Double
    /// The number of engines that get new requests.
    private(set) var count: Int
    /// The last sample of each engine, and the number of its samples in succession in which the engine was busy.
    private var samples: [(share: Double, time: EngineInstant, busyCount: Int)] = []
    private var busyCount = 0
    private var calmCount = 0
    /// The idle time of the processors at the first of the ``busyCount`` samples; `nil` if it is not known.
    private var idleBefore: (time: Duration, instant: EngineInstant)?
    /// Whether the system has told the idle time of the processors before.
    private var isIdleTimeKnown = false
    /// The number of periods of ``busyCount`` samples in succession in which enough processors were idle.
    private var idleCount = 0

    init(_ engines: EngineCount) {
        maximum = engines.maximum
        count = engines.initial
        busyShare = engines.busyShare
        idleProcessors = engines.idleProcessors
    }

    /// Returns whether ``sample(_:of:at:idleTime:)`` needs the idle time of the processors for such a sample, at the first of several in
    /// which all engines are busy, or at the last one. The time takes long to read, and so it is read before.
    func needsIdleTime(_ share: Double, of engine: Int) -> Bool {
        guard idleProcessors > 0, count < maximum, engine < count, share >= busyShare else { return false }
        return busyCount == 0 || busyCount + 1 >= Self.busySamples * count
    }

    /// Records the share of the time in which an engine was busy. Returns the new number of engines if it changes; only the samples of
    /// engines that get new requests can change it.
    ///
    /// - Parameter idleTime: The idle time of the processors so far, as ``ProcessorTime/idle()``, if it is needed; `nil` if it is not
    ///   known.
    mutating func sample(_ share: Double, of engine: Int, at now: EngineInstant, idleTime: Duration?) -> Int? {
        while samples.count <= engine { samples.append((0, now, 0)) }
        samples[engine] = (share, now, share >= busyShare ? samples[engine].busyCount + 1 : 0)
        // An engine that is not active works only for the tasks that prefer it.
        guard engine < count else { return nil }
        let shares = (0..<count).map { self.share(of: $0, at: now) }
        if shares.allSatisfy({ $0 >= busyShare }) {
            busyCount += 1
        } else {
            (busyCount, idleCount) = (0, 0)
        }
        calmCount = shares.reduce(0, +) < Self.calmShare * Double(count - 1) ? calmCount + 1 : 0
        if count < maximum, hasRoom(at: now, idleTime) { return change(by: 1) }
        if calmCount >= Self.calmSamples * count, count > 1 { return change(by: -1) }
        return nil
    }

    /// Returns the instant until which an engine counts as busy after its last sample; `nil` if it is not busy. One sample may be a short
    /// burst, and so as many in succession count as those that lead to another engine.
    func busyEnd(of engine: Int) -> EngineInstant? {
        guard engine < samples.count, samples[engine].busyCount >= Self.busySamples else { return nil }
        return samples[engine].time.advanced(by: Self.lifetime)
    }

    /// Returns whether the engines have been busy for long enough, while enough processors were idle. If not, the next samples count from
    /// the first one again.
    private mutating func hasRoom(at now: EngineInstant, _ idleTime: Duration?) -> Bool {
        guard busyCount > 0 else { return false }
        if idleTime != nil { isIdleTimeKnown = true }
        if busyCount == 1 { idleBefore = idleTime.map { ($0, now) } }
        guard busyCount >= Self.busySamples * count else { return false }
        guard idleProcessors > 0, isIdleTimeKnown else { return true }
        busyCount = 0
        // The system may fail to tell the time at one of the two samples, for example when there are no descriptors.
        guard let before = idleBefore, let idleTime else { return false }
        let elapsed = Double(now.nanoseconds(since: before.instant))
        let processors = (idleTime - before.time) / .nanoseconds(1) / max(elapsed, 1)
        guard processors >= idleProcessors else {
            idleCount = 0
            return false
        }
        idleCount += 1
        return idleCount >= Self.idlePeriods || processors >= 2 * idleProcessors
    }

    private func share(of engine: Int, at now: EngineInstant) -> Double {
        guard engine < samples.count, now < samples[engine].time.advanced(by: Self.lifetime) else { return 0 }
        return samples[engine].share
    }

    private mutating func change(by difference: Int) -> Int {
        count += difference
        (busyCount, calmCount, idleCount) = (0, 0, 0)
        return count
    }
}
