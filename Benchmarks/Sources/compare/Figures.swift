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

    enum CodingKeys: String, CodingKey {
        case requests, seconds, bytes
        case cpuSeconds = "cpu_seconds"
        case p50 = "p50_ms"
        case p99 = "p99_ms"
        case idleRSS = "idle_rss_mb"
        case peakRSS = "peak_rss_mb"
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
    /// The time until the last request of a crowd has ended, in seconds.
    var seconds: Double?
    /// The growth of the resident memory of a crowd over the idle process, in bytes per request.
    var bytesPerRequest: Double?
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
        cpuMicrosecondsPerRequest = median(runs.map { $0.cpuSeconds * 1e6 / Double($0.requests ?? 1) })
        let rates: [Double]
        switch benchmark.shape {
        case .bytes:
            rates = runs.map { Double($0.bytes ?? 0) / $0.seconds }
            bytesPerSecond = median(rates)
        case .requests, .crowd, .instructions:
            rates = runs.map { Double($0.requests ?? 1) / $0.seconds }
            requestsPerSecond = median(rates)
        }
        spread = halfRange(rates)
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
