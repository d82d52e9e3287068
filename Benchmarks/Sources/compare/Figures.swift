/// The figures of one run, as a client or its supervisor prints them.
struct RunFigures: Decodable, Sendable {
    var requests: Int?
    var seconds: Double
    var cpuSeconds: Double
    var bytes: Int64?
    /// The median latency, in milliseconds.
    var p50: Double?
    /// The 99th percentile of the latencies, in milliseconds.
    var p99: Double?
    /// The resident memory of the idle process, in MB.
    var idleRSS: Double?
    /// The highest resident memory of the process, in MB.
    var peakRSS: Double

    /// The resident memory at the end of the measured part, in MB; `nil` if the client does not measure it.
    var endRSS: Double?
    /// The number of times that a thread of the process was woken; `nil` if the client does not measure it.
    var wakeUps: Int?
    /// The time in which a cache without a saved index has read its folder, in seconds; `nil` if no cache was opened.
    var rebuildSeconds: Double?

    /// The number of requests that have failed; `nil` if one that fails ends the run.
    var errors: Int?

    /// The counters of Trellis's engines; `nil` if the client has none.
    var engines: [EngineFigures]?
    /// The number of cores that the servers of the origins used, which the launcher adds; `nil` if it was not measured.
    var serverCores: Double?

    enum CodingKeys: String, CodingKey {
        case requests, seconds, bytes, engines, errors
        case cpuSeconds = "cpu_seconds"
        case p50 = "p50_ms"
        case p99 = "p99_ms"
        case idleRSS = "idle_rss_mb"
        case endRSS = "end_rss_mb"
        case peakRSS = "peak_rss_mb"
        case wakeUps = "wake_ups"
        case rebuildSeconds = "rebuild_seconds"
    }
}

/// The counters of one engine in the measured part of a run.
struct EngineFigures: Decodable, Sendable {
    var requests: Int
    var busySeconds: Double
    /// The number of times that another thread woke the engine's thread.
    var wakeUps: Int
    /// The number of times that the thread of another engine woke the engine's thread.
    var wakeUpsByEngines: Int

    /// Returns the engine's share in the requests of all.
    func share(of all: [EngineFigures]) -> Double {
        Double(requests) / Double(max(all.reduce(0) { $0 + $1.requests }, 1))
    }

    enum CodingKeys: String, CodingKey {
        case requests
        case busySeconds = "busy_seconds"
        case wakeUps = "wake_ups"
        case wakeUpsByEngines = "wake_ups_by_engines"
    }
}

/// The medians of one client's runs of one benchmark, as a row of the JSON. A figure is `nil` if it does not apply.
struct Row: Sendable {
    var benchmark: String
    var client: Client
    var requestsPerSecond: Double?
    var cpuMicrosecondsPerRequest: Double?
    var p50: Double?
    var p99: Double?
    var bytesPerSecond: Double?
    var peakRSS: Double?
    var instructionsPerRequest: Double?
    /// The time until the last request of a crowd has ended, or a cache is open, in seconds.
    var seconds: Double?
    /// The growth of the resident memory over the idle process, in bytes per request of a crowd (at the peak), per idle connection or per
    /// entry of a cache (at the end).
    var bytesPerRequest: Double?
    /// The time in which a cache without a saved index has read its folder, in seconds.
    var rebuildSeconds: Double?
    /// The number of times per second that a thread of the process was woken while its connections were idle.
    var wakeUpsPerSecond: Double?
    /// The number of cores that the servers of the origins used.
    var serverCores: Double?
    /// The processor time of each engine's thread, as a share of the time.
    var engineBusy: [Double]?
    /// The share of each engine in the requests.
    var engineRequests: [Double]?
    /// The number of times per request that another thread woke an engine.
    var wakeUpsPerRequest: Double?
    /// The number of times per request that the thread of one engine woke another engine.
    var engineWakeUpsPerRequest: Double?
    /// The share of the requests that have failed; `nil` if one that fails ends the run.
    var errorShare: Double?
    /// Half the range of the main figure over the rounds, as a share of the median.
    var spread: Double?
    var rounds: Int

    /// Creates a row of the medians of all runs.
    init(_ benchmark: Benchmark, _ client: Client, _ runs: [RunFigures]) {
        self.benchmark = benchmark.name
        self.client = client
        rounds = runs.count
        peakRSS = median(runs.map(\.peakRSS))
        p50 = median(runs.compactMap(\.p50))
        p99 = median(runs.compactMap(\.p99))
        errorShare = median(
            runs.compactMap { run in run.errors.map { Double($0) / Double(max(run.requests ?? 1, 1)) } })
        cpuMicrosecondsPerRequest = median(runs.map { $0.cpuSeconds * 1e6 / Double($0.requests ?? 1) })
        let rates: [Double]
        switch benchmark.shape {
        case .bytes:
            rates = runs.map { Double($0.bytes ?? 0) / $0.seconds }
            bytesPerSecond = median(rates)
        case .idle:
            rates = runs.compactMap { run in
                run.idleRSS.flatMap { idle in
                    run.endRSS.map { ($0 - idle) * 1e6 / Double(benchmark.concurrency) }
                }
            }
            bytesPerRequest = median(rates)
            seconds = median(runs.map(\.seconds))
            wakeUpsPerSecond = median(runs.compactMap { run in run.wakeUps.map { Double($0) / run.seconds } })
        case .opening:
            rates = runs.map(\.seconds)
            seconds = median(rates)
            bytesPerRequest = median(
                runs.compactMap { run in
                    run.idleRSS.flatMap { idle in
                        run.endRSS.map { ($0 - idle) * 1e6 / Double(run.requests ?? 1) }
                    }
                })
            rebuildSeconds = median(runs.compactMap(\.rebuildSeconds))
        case .requests, .crowd, .instructions:
            rates = runs.map { Double($0.requests ?? 1) / $0.seconds }
            requestsPerSecond = median(rates)
        }
        spread = halfRange(rates)
        serverCores = median(runs.compactMap(\.serverCores))
        let engines = runs.compactMap(\.engines).map(\.count).min() ?? 0
        if engines > 0 {
            engineBusy = (0..<engines).compactMap { index in
                median(runs.compactMap { run in run.engines.map { $0[index].busySeconds / run.seconds } })
            }
            engineRequests = (0..<engines).compactMap { index in
                median(runs.compactMap { run in run.engines.map { $0[index].share(of: $0) } })
            }
            func perRequest(_ count: (EngineFigures) -> Int) -> Double? {
                median(
                    runs.map { Double(($0.engines ?? []).map(count).reduce(0, +)) / Double(max($0.requests ?? 1, 1)) })
            }
            wakeUpsPerRequest = perRequest(\.wakeUps)
            engineWakeUpsPerRequest = perRequest(\.wakeUpsByEngines)
        }
        if benchmark.shape == .crowd {
            seconds = median(runs.map(\.seconds))
            bytesPerRequest = median(
                runs.compactMap { run in run.idleRSS.map { (run.peakRSS - $0) * 1e6 / Double(benchmark.concurrency) } })
        }
    }

    /// Creates a row that contains only counted instructions.
    init(_ benchmark: Benchmark, _ client: Client, instructionsPerRequest counts: [Double]) {
        self.benchmark = benchmark.name
        self.client = client
        rounds = counts.count
        instructionsPerRequest = median(counts)
        spread = halfRange(counts)
    }
}

/// Returns the middle value, or the mean of the two middle values; `nil` if there are no values.
func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// Returns half the range of the values, as a share of their median.
private func halfRange(_ values: [Double]) -> Double? {
    guard let low = values.min(), let high = values.max(), let middle = median(values), middle > 0 else { return nil }
    return (high - low) / 2 / middle
}
