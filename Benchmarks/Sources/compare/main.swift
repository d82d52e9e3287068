import Foundation
import Glibc

/// Runs the benchmarks that the options select. Returns `false` if Trellis or the C program failed, or the check of the instructions did.
func compare(_ options: Options) throws -> Bool {
    let benchmarks = try options.benchmarks()
    let effort = Effort(options)
    let machine = Machine()
    let launcher = Launcher(options, effort)
    let libcurl = try launcher.libcurlVersion()
    var runner = Runner(launcher, benchmarks)
    let servers = try Servers(options, effort, texts: Set(benchmarks.compactMap(\.text)))

    print("libcurl \(libcurl), \(machine.processor), \(machine.cores) cores, Linux \(machine.kernel)")
    let rounds = benchmarks.allSatisfy { $0.shape == .instructions } ? effort.instructionRounds : effort.rounds
    print(rounds == 1 ? "One round.\n" : "Medians of \(rounds) rounds; ± is half their range.\n")
    var rows: [Row] = []
    for benchmark in benchmarks {
        let measured = runner.run(benchmark, servers)
        rows += measured
        guard !measured.isEmpty else { continue }
        print(Table(benchmark: benchmark, rows: measured, run: rows).text)
        fflush(nil)
    }
    if let file = options.jsonFile {
        try JSONReport(
            libcurl: libcurl, quick: options.isQuick, machine: machine, results: rows, leftOut: runner.leftOut
        ).write(to: file)
    }
    if let folder = options.chartFolder {
        let system = "libcurl \(libcurl), \(machine.processor), \(machine.cores) cores"
        try Chart.write(rows, of: benchmarks, on: system, to: folder)
    }
    guard !runner.hasFailed else { return false }
    let key = "\(libcurl)-\(machine.architecture)"
    switch options.instructionRecord {
    case .ignore: return true
    case .write: return try recordInstructions(rows, options, key: key)
    case .check:
        guard !rows.isEmpty else { return false }
        var doubtful = try checkedBenchmarks(rows, options, key: key) { $0.hasFailed || $0.isDoubtful }
        // Other work on the machine changes the counts, perhaps those of one client alone. Therefore a count that differs from its record
        // is counted again in more rounds, and a failure has to repeat.
        for _ in 0..<2 where !doubtful.isEmpty {
            note("counted again, in \(Effort.repeatedRounds) rounds: \(doubtful.sorted().joined(separator: " "))")
            let repeated = benchmarks.filter { doubtful.contains($0.name) || $0.name == InstructionRecord.reference }
            let counted = repeated.flatMap {
                runner.run($0, servers, instructionRounds: Effort.repeatedRounds)
            }
            guard !runner.hasFailed else { return false }
            doubtful.formIntersection(try checkedBenchmarks(counted, options, key: key) { $0.hasFailed })
        }
        return doubtful.isEmpty
    }
}

/// Records the instruction counts. Returns `false` if there are none.
func recordInstructions(_ rows: [Row], _ options: Options, key: String) throws -> Bool {
    let counts = InstructionRecord.counts(in: rows)
    guard !counts.isEmpty else { return false }
    var record = try InstructionRecord(file: options.instructionRecordFile)
    record.record(counts, key: key)
    try record.write(to: options.instructionRecordFile)
    print("recorded for \(key)")
    for row in rows where (row.spread ?? 0) > 0.01 {
        note("\(row.benchmark), \(row.client.rawValue): the counts differ by more than 1 %: is the machine quiet?")
    }
    return true
}

/// Checks the instruction counts, prints what they are, and returns the names of the benchmarks whose checks satisfy a condition.
func checkedBenchmarks(
    _ rows: [Row], _ options: Options, key: String, where condition: (InstructionRecord.Check) -> Bool
) throws -> Set<String> {
    let record = try InstructionRecord(file: options.instructionRecordFile)
    let checks = record.check(InstructionRecord.counts(in: rows), key: key)
    for check in checks { check.hasFailed ? note(check.facts) : print(check.facts) }
    fflush(nil)
    return Set(checks.filter(condition).map { "instructions/\($0.name)" })
}

do {
    exit(try compare(Options(CommandLine.arguments.dropFirst())) ? 0 : 1)
} catch {
    note("run.sh: \(error)")
    exit(64)
}
