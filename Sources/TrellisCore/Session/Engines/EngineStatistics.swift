import CurlEngine

/// The counters of one engine of a session since the session was created.
public struct EngineStatistics: Sendable, Hashable {
    /// The number of requests that got a connection on the engine. A retry and a redirect are requests of their own.
    public let requestCount: Int
    /// The processor time that the engine's thread has used.
    public let busyTime: Duration
    /// The time for which the engine's thread has been in the present turn of its loop; zero while it sleeps. If the time is long, the
    /// engine is late, and so are its requests: often because of a task on the engine's executor that blocks the thread.
    public let turnTime: Duration
    /// The number of times that another thread has woken the engine's thread from its sleep.
    public let wakeUpCount: Int
    /// The number of times that the thread of another engine has woken the engine's thread from its sleep.
    public let wakeUpCountByEngines: Int
    /// Whether the engine speaks HTTP/2. It does not without nghttp2, and without the OpenSSL of libcurl: such programs have HTTP/1.1.
    public let speaksHTTP2: Bool

    init(_ engine: ExchangeEngine) {
        let meter = engine.executor.meter
        requestCount = engine.admittedCount
        busyTime = meter.busyTime
        turnTime = meter.turnTime
        wakeUpCount = meter.wakeUpCount
        wakeUpCountByEngines = meter.wakeUpByEngineCount
        speaksHTTP2 = EngineConfiguration.sharesConnections
    }
}
