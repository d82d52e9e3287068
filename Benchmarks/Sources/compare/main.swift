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
    return try options.instructionRecord == .ignore
        || useInstructions(rows, options, key: "\(libcurl)-\(machine.architecture)")
}

/// Checks or records the instruction counts. Returns `false` if one of them increased too much, or is missing.
func useInstructions(_ rows: [Row], _ options: Options, key: String) throws -> Bool {
    let counts = InstructionRecord.counts(in: rows)
    guard !counts.isEmpty else { return false }
    var record = try InstructionRecord(file: options.instructionRecordFile)
    if options.instructionRecord == .write {
        record.record(counts, key: key)
        try record.write(to: options.instructionRecordFile)
        print("recorded for \(key)")
        return true
    }
    let (passed, failed) = record.check(counts, key: key)
    passed.forEach { print($0) }
    failed.forEach(note)
    return failed.isEmpty
}

do {
    exit(try compare(Options(CommandLine.arguments.dropFirst())) ? 0 : 1)
} catch {
    note("run.sh: \(error)")
    exit(64)
}
