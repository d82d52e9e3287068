import Foundation

/// The rows of a benchmark as a readable table.
struct Table {
    let benchmark: Benchmark
    let rows: [Row]
    /// All rows of the run so far, which include those of other benchmarks.
    let run: [Row]

    /// A column: its heading, its width, and the text of its cells.
    private typealias Column = (title: String, width: Int, cell: (Row) -> String)

    var text: String {
        let heading = pad("\(benchmark.name)  (\(benchmark.summary))", 0)
        let titles = "  " + pad("", 18) + columns.map { right($0.title, $0.width) }.joined()
        let lines = rows.map { row in
            "  " + pad(row.client.rawValue, 18) + columns.map { right($0.cell(row), $0.width) }.joined()
        }
        return ([heading, titles] + lines).joined(separator: "\n") + "\n"
    }

    /// The columns for the benchmark. AHC is AsyncHTTPClient; C is the C program.
    private var columns: [Column] {
        switch benchmark.shape {
        case .requests where benchmark.engines != nil:
            [
                ("req/s", 11, { grouped($0.requestsPerSecond) }), spread, cpu, memory,
                ratio("÷ 1 engine", to: withOneEngine?.requestsPerSecond) {
                    $0.client == .trellis ? $0.requestsPerSecond : nil
                },
                ratio("CPU ÷ 1 eng.", to: withOneEngine?.cpuMicrosecondsPerRequest) {
                    $0.client == .trellis ? $0.cpuMicrosecondsPerRequest : nil
                },
                cpuRatio, ("server cores", 14, { decimal($0.serverCores, 2) }),
                ("wake-ups/req", 14, { decimal($0.wakeUpsPerRequest, 3) }),
                ("by engines", 12, { decimal($0.engineWakeUpsPerRequest, 3) }),
                ("busy %", 18, { percentages($0.engineBusy) }), ("requests %", 18, { percentages($0.engineRequests) }),
            ]
        case .requests where benchmark.work == "spread-get" || benchmark.work == "fleet-get":
            [
                ("req/s", 11, { grouped($0.requestsPerSecond) }), spread, cpu,
                ("p50 ms", 9, { decimal($0.p50, 3) }), ("p99 ms", 10, { decimal($0.p99, 3) }), memory,
                ("errors %", 10, { decimal($0.errorShare.map { $0 * 100 }, 2) }),
            ]
        case .requests:
            [
                ("req/s", 11, { grouped($0.requestsPerSecond) }), spread, cpu,
                ("p50 ms", 9, { decimal($0.p50, 3) }), ("p99 ms", 9, { decimal($0.p99, 3) }), memory,
                ratio("req/s ÷ AHC", .asyncHTTPClient) { $0.requestsPerSecond },
                ratio("req/s ÷ C", .libcurl) { $0.requestsPerSecond }, cpuRatio,
            ]
        case .bytes where benchmark.work == "download-stored":
            [
                ("GB/s", 11, { decimal($0.bytesPerSecond.map { $0 / 1e9 }, 2) }), spread,
                ("CPU ms", 10, { grouped($0.cpuMicrosecondsPerRequest.map { $0 / 1e3 }) }), memory,
                ratio("GB/s ÷ file", to: fileDownload?.bytesPerSecond) { $0.bytesPerSecond },
            ]
        case .bytes where benchmark.work == "readers-beside-stopped":
            [
                ("GB/s", 11, { decimal($0.bytesPerSecond.map { $0 / 1e9 }, 2) }), spread,
                ("CPU ms", 10, { grouped($0.cpuMicrosecondsPerRequest.map { $0 / 1e3 }) }), memory,
                ratio("GB/s ÷ alone", to: readersAlone?.bytesPerSecond) { $0.bytesPerSecond },
            ]
        case .bytes:
            [
                ("GB/s", 11, { decimal($0.bytesPerSecond.map { $0 / 1e9 }, 2) }), spread,
                ("CPU ms", 10, { grouped($0.cpuMicrosecondsPerRequest.map { $0 / 1e3 }) }), memory,
                ratio("GB/s ÷ AHC", .asyncHTTPClient) { $0.bytesPerSecond },
                ratio("GB/s ÷ C", .libcurl) { $0.bytesPerSecond }, cpuRatio,
            ]
        case .crowd:
            [
                ("seconds", 11, { decimal($0.seconds, 3) }), spread, cpu, memory,
                ("KB/request", 12, { decimal($0.bytesPerRequest.map { $0 / 1e3 }, 1) }),
                ratio("s ÷ AHC", .asyncHTTPClient) { $0.seconds }, ratio("s ÷ C", .libcurl) { $0.seconds }, cpuRatio,
            ]
        case .idle:
            [
                (
                    benchmark.work == "waiting-streams" ? "KB/request" : "KB/socket", 11,
                    { decimal($0.bytesPerRequest.map { $0 / 1e3 }, 2) }
                ), spread,
                ("seconds", 9, { decimal($0.seconds, 1) }),
                ("CPU ms", 10, { decimal($0.cpuMicrosecondsPerRequest.map { $0 / 1e3 }, 1) }),
                ("wake-ups/s", 12, { decimal($0.wakeUpsPerSecond, 1) }), memory,
                ratio("KB ÷ C", .libcurl) { $0.bytesPerRequest },
            ]
        case .opening:
            [
                ("ms", 11, { decimal($0.seconds.map { $0 * 1e3 }, 1) }), spread,
                ("bytes/entry", 13, { decimal($0.bytesPerRequest, 1) }),
                ("rebuild ms", 12, { grouped($0.rebuildSeconds.map { $0 * 1e3 }) }), memory,
            ]
        case .instructions:
            [
                ("instructions", 14, { grouped($0.instructionsPerRequest) }), spread,
                instructionRatio("÷ C", .libcurl), instructionRatio("÷ small-get", .trellis),
            ]
        }
    }

    private var spread: Column { ("±", 6, { $0.spread.map { decimal($0 * 100, 0) + "%" } ?? "" }) }
    private var cpu: Column { ("CPU µs", 10, { decimal($0.cpuMicrosecondsPerRequest, 1) }) }
    private var memory: Column { ("RSS MB", 9, { decimal($0.peakRSS, 1) }) }
    private var cpuRatio: Column { ratio("CPU ÷ C", .libcurl) { $0.cpuMicrosecondsPerRequest } }

    /// The row of Trellis's download into a file, on the disk on which `download-stored` stores.
    private var fileDownload: Row? {
        (run + rows).first { $0.client == .trellis && $0.benchmark == "download-file/1" }
    }

    /// The row of Trellis's readers without others that have stopped.
    private var readersAlone: Row? {
        (run + rows).first { $0.client == .trellis && $0.benchmark == "h2-readers/32" }
    }

    /// The row of Trellis with one engine on the same origins.
    private var withOneEngine: Row? {
        let name = benchmark.name.prefix { $0 != "/" } + "/\(benchmark.name.split(separator: "/")[1])/1"
        return (run + rows).first { $0.client == .trellis && $0.benchmark == name }
    }

    /// Returns a column of a figure divided by that of another client.
    private func ratio(_ title: String, _ client: Client, _ figure: @escaping (Row) -> Double?) -> Column {
        ratio(title, to: rows.first { $0.client == client }.flatMap(figure), figure)
    }

    /// Returns a column of the instructions divided by those of the C program for the same work or, if there are none, for a small GET; or
    /// of the instructions of Trellis divided by its own for a small GET.
    private func instructionRatio(_ title: String, _ client: Client) -> Column {
        let small = run.first { $0.client == client && $0.benchmark == InstructionRecord.reference }
        let reference = client == .libcurl ? rows.first { $0.client == client } ?? small : small
        return ratio(title, to: reference?.instructionsPerRequest) { row in
            client == .trellis && row.client != client ? nil : row.instructionsPerRequest
        }
    }

    /// Returns a column of a figure divided by a reference.
    private func ratio(_ title: String, to reference: Double?, _ figure: @escaping (Row) -> Double?) -> Column {
        (
            title, 13,
            { row in
                guard let reference, reference > 0, let value = figure(row) else { return "" }
                return decimal(value / reference, 2)
            }
        )
    }
}

private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

private func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
}

private func decimal(_ value: Double?, _ digits: Int) -> String {
    value.map { String(format: "%.\(digits)f", $0) } ?? ""
}

/// Returns shares as percentages with spaces between them.
private func percentages(_ shares: [Double]?) -> String {
    (shares ?? []).map { decimal($0 * 100, 0) }.joined(separator: " ")
}

/// Returns an integer with commas between the thousands.
private func grouped(_ value: Double?) -> String {
    guard let value else { return "" }
    let digits = String(Int(value.rounded()))
    return digits.enumerated().reduce(into: "") { text, digit in
        if digit.offset > 0, (digits.count - digit.offset) % 3 == 0 { text += "," }
        text.append(digit.element)
    }
}
