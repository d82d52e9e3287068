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

    /// Leaves out the wake-ups of an earlier part of the same length, in which the process had nothing to do.
    mutating func subtractWakeUps(of earlier: Report) {
        var baseline = earlier.figures
        report_subtract_wake_ups(&figures, &baseline)
    }

    /// Prints the line of JSON that the orchestrator reads.
    ///
    /// - Parameter ownFigures: Further members, each followed by a comma.
    mutating func print(requests: Int, bytes: Int64 = 0, latencies: [Float] = [], ownFigures: String = "") {
        figures.requests = requests
        figures.bytes = bytes
        var latencies = latencies
        ownFigures.withCString { ownFigures in
            figures.own_figures = ownFigures
            latencies.withUnsafeMutableBufferPointer { report_print(&figures, $0.baseAddress, $0.count) }
            figures.own_figures = nil
        }
    }
}
