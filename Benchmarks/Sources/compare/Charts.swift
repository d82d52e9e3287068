import Foundation

extension Chart {
    /// Writes `cpu.svg` and `throughput.svg` into a folder: those of them for which the run has figures of two clients.
    static func write(_ rows: [Row], of benchmarks: [Benchmark], on machine: String, to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let charts = [
            (
                "cpu",
                Chart(
                    title: "Processor time of a request", note: "Less is better. \(machine)", unit: "µs",
                    groups: groups(rows, of: benchmarks.filter { $0.shape == .requests && $0.engines == nil }) {
                        $0.cpuMicrosecondsPerRequest
                    })
            ),
            (
                "throughput",
                Chart(
                    title: "Large bodies", note: "More is better. \(machine)", unit: "GB/s",
                    groups: groups(rows, of: benchmarks.filter { $0.shape == .bytes }) {
                        $0.bytesPerSecond.map { $0 / 1e9 }
                    })
            ),
        ]
        for (name, chart) in charts where !chart.groups.isEmpty {
            try Data(chart.svg.utf8).write(to: URL(filePath: folder).appending(path: "\(name).svg"))
        }
    }

    private static func groups(_ rows: [Row], of benchmarks: [Benchmark], _ figure: (Row) -> Double?) -> [Group] {
        benchmarks.compactMap { benchmark in
            let bars = rows.filter { $0.benchmark == benchmark.name }
                .compactMap { row in figure(row).map { (client: row.client, value: $0) } }
            return bars.count > 1 ? Group(title: benchmark.summary, bars: bars) : nil
        }
    }
}
