import CurlEngine

/// The policy that decides how many engines of a session get new requests, as a value.
///
/// An engine is added after every engine has been busy for several samples in succession, if processors have had time to spare meanwhile:
/// without that, the engines, the server and the application would only take it from each other. An engine is taken away after the others
/// could easily have done its work for a longer time.
struct EngineScaling {
    /// The share of the time that the engines may be busy on average after one of them is taken away.
    static let calmShare = 0.5
    /// The number of samples of each engine in succession that lead to another engine.
    static let busySamples = 3
    /// The number of samples of each engine in succession that lead to one engine less.
    static let calmSamples = 30
    /// The time after which a sample no longer counts: an engine that sleeps makes no samples.
    static let lifetime = Duration.milliseconds(300)

    /// The maximum number of engines.
    let maximum: Int
    /// The share of the time from which an engine counts as busy.
    let busyShare: Double
    /// The time to spare, in processors, from which an engine is added.
    let spareProcessors: Double
    /// The number of engines that get new requests.
    private(set) var count: Int
    /// The last sample of each engine, and the number of its samples in succession in which the engine was busy.
    private var samples: [(share: Double, time: EngineInstant, busyCount: Int)] = []
    private var busyCount = 0
    private var calmCount = 0
    /// The processors' time to spare at the first of the ``busyCount`` samples; `nil` if it is not known.
    private var spareBefore: (time: Duration, instant: EngineInstant)?

    init(_ engines: EngineCount) {
        maximum = engines.maximum
        count = engines.initial
        busyShare = engines.busyShare
        spareProcessors = engines.spareProcessors
    }

    /// Records the share of the time in which an engine was busy. Returns the new number of engines if it changes; only the samples of
    /// engines that get new requests can change it.
    ///
    /// - Parameter spareTime: Returns the time that the processors have had to spare so far, as ``ProcessorTime/spare()``.
    mutating func sample(
        _ share: Double, of engine: Int, at now: EngineInstant, spareTime: () -> Duration?
    ) -> Int? {
        while samples.count <= engine { samples.append((0, now, 0)) }
        samples[engine] = (share, now, share >= busyShare ? samples[engine].busyCount + 1 : 0)
        // An engine that is not active works only for the tasks that prefer it.
        guard engine < count else { return nil }
        let shares = (0..<count).map { self.share(of: $0, at: now) }
        busyCount = shares.allSatisfy { $0 >= busyShare } ? busyCount + 1 : 0
        calmCount = shares.reduce(0, +) < Self.calmShare * Double(count - 1) ? calmCount + 1 : 0
        if count < maximum, hasRoom(at: now, spareTime) { return change(by: 1) }
        if calmCount >= Self.calmSamples * count, count > 1 { return change(by: -1) }
        return nil
    }

    /// Returns the instant until which an engine counts as busy after its last sample; `nil` if it is not busy. One sample may be a short
    /// burst, and so as many in succession count as those that lead to another engine.
    func busyEnd(of engine: Int) -> EngineInstant? {
        guard engine < samples.count, samples[engine].busyCount >= Self.busySamples else { return nil }
        return samples[engine].time.advanced(by: Self.lifetime)
    }

    /// Adds an engine at once, because all others are stuck.
    mutating func add() {
        if count < maximum { _ = change(by: 1) }
    }

    /// Returns whether the engines have been busy for long enough, and processors have had time to spare meanwhile. If they have not, the
    /// next samples count from the first one again.
    private mutating func hasRoom(at now: EngineInstant, _ spareTime: () -> Duration?) -> Bool {
        if busyCount == 1 { spareBefore = spareProcessors > 0 ? spareTime().map { ($0, now) } : nil }
        guard busyCount >= Self.busySamples * count else { return false }
        guard let before = spareBefore, let time = spareTime() else { return true }
        if (time - before.time) / .nanoseconds(1) >= spareProcessors * Double(now.nanoseconds(since: before.instant)) {
            return true
        }
        busyCount = 0
        return false
    }

    private func share(of engine: Int, at now: EngineInstant) -> Double {
        guard engine < samples.count, now < samples[engine].time.advanced(by: Self.lifetime) else { return 0 }
        return samples[engine].share
    }

    private mutating func change(by difference: Int) -> Int {
        count += difference
        (busyCount, calmCount) = (0, 0)
        return count
    }
}
