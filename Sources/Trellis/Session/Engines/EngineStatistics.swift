import CurlEngine

/// The counters of one engine of a session since the session was created.
public struct EngineStatistics: Sendable, Hashable {
    /// The number of requests that got a connection on the engine. A retry and a redirect are requests of their own.
    public let requests: Int
    /// The processor time that the engine's thread has used.
    public let busyTime: Duration
    /// The number of times that another thread has woken the engine's thread from its sleep.
    public let wakeUps: Int
    /// The number of times that the thread of another engine has woken the engine's thread from its sleep.
    public let wakeUpsByEngines: Int

    init(_ engine: ExchangeEngine) {
        let meter = engine.executor.meter
        requests = engine.admittedCount
        busyTime = meter.busyTime
        wakeUps = meter.wakeUpCount
        wakeUpsByEngines = meter.wakeUpByEngineCount
    }
}

extension Session {
    /// The counters of the session's engines. The first engine comes first; engines that were never needed are not included.
    public var engineStatistics: [EngineStatistics] { engines.all.map { EngineStatistics($0.site) } }
}
