/// The counters of one engine of a client.
public struct EngineCounters: Sendable {
    /// The number of requests that the engine has run.
    public var requests: Int
    /// The processor time of the engine's thread, in seconds.
    public var busySeconds: Double
    /// The number of times that another thread has woken the engine's thread.
    public var wakeUps: Int
    /// The number of times that the thread of another engine has woken the engine's thread.
    public var wakeUpsByEngines: Int

    /// Creates counters, which are 0 if they are not given.
    public init(requests: Int = 0, busySeconds: Double = 0, wakeUps: Int = 0, wakeUpsByEngines: Int = 0) {
        self.requests = requests
        self.busySeconds = busySeconds
        self.wakeUps = wakeUps
        self.wakeUpsByEngines = wakeUpsByEngines
    }

    /// Returns the member of the report with the growth of the counters; an empty text if there are no engines. A new engine has counted
    /// from zero.
    static func figures(from before: [EngineCounters], to after: [EngineCounters]) -> String {
        guard !after.isEmpty else { return "" }
        let objects = after.enumerated().map { index, now in
            let start = index < before.count ? before[index] : EngineCounters()
            return "{\"requests\":\(now.requests - start.requests),"
                + "\"busy_seconds\":\(now.busySeconds - start.busySeconds),"
                + "\"wake_ups\":\(now.wakeUps - start.wakeUps),"
                + "\"wake_ups_by_engines\":\(now.wakeUpsByEngines - start.wakeUpsByEngines)}"
        }
        return "\"engines\":[\(objects.joined(separator: ","))],"
    }
}
