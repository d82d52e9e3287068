import CMeasure

/// The figures of one run, collected and printed by the C library that the C program uses too.
struct Report {
    private var figures = report()

    /// Creates a report, and starts the clock.
    init() {
        report_start(&figures)
    }

    /// Stops the clock, or sets the end to a monotonic time that another process has measured.
    mutating func stop(atNanoseconds end: UInt64? = nil) {
        report_stop(&figures)
        if let end { figures.seconds = Double(end - figures.start_ns) / 1e9 }
    }

    /// Stores the resident memory of an earlier moment as that of the idle process.
    mutating func takeIdleMemory(from earlier: Report) {
        figures.idle_rss_mb = earlier.figures.idle_rss_mb
    }

    /// Prints the line of JSON that the orchestrator reads.
    mutating func print(requests: Int, bytes: Int64 = 0, latencies: [Float] = []) {
        figures.requests = requests
        figures.bytes = bytes
        var latencies = latencies
        latencies.withUnsafeMutableBufferPointer { report_print(&figures, $0.baseAddress, $0.count) }
    }
}
