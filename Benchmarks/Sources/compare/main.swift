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
    print("Medians of \(effort.rounds) rounds; ± is half their range.\n")
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
    guard !runner.hasFailed else { return false }
    let key = "\(libcurl)-\(machine.architecture)"
    switch options.instructionRecord {
    case .ignore: return true
    case .write: return try recordInstructions(rows, options, key: key)
    case .check:
        let failed = try failedBenchmarks(rows, options, key: key)
        guard !failed.isEmpty else { return !rows.isEmpty }
        // Other work on the machine changes the counts, perhaps those of one client alone. Therefore a failure has to repeat.
        note("counted once more: \(failed.joined(separator: " "))")
        let repeated = benchmarks.filter { failed.contains($0.name) || $0.name == InstructionRecord.reference }
        let counted = repeated.flatMap { runner.run($0, servers) }
        return try failedBenchmarks(counted, options, key: key).isDisjoint(with: failed) && !runner.hasFailed
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

/// Checks the instruction counts, prints what they are, and returns the names of the benchmarks whose counts increased too much.
func failedBenchmarks(_ rows: [Row], _ options: Options, key: String) throws -> Set<String> {
    let record = try InstructionRecord(file: options.instructionRecordFile)
    let checks = record.check(InstructionRecord.counts(in: rows), key: key)
    for check in checks { check.hasFailed ? note(check.facts) : print(check.facts) }
    fflush(nil)
    return Set(checks.filter(\.hasFailed).map { "instructions/\($0.name)" })
}

do {
    exit(try compare(Options(CommandLine.arguments.dropFirst())) ? 0 : 1)
} catch {
    note("run.sh: \(error)")
    exit(64)
}
