/// The extent of the measurement: rounds, times and sizes.
struct Effort {
    let rounds: Int
    /// The rounds in which instructions are counted. The check counts once, and counts again what differs from its record.
    let instructionRounds: Int
    /// The measured time of a run of small requests, in seconds.
    let seconds: Double
    /// The time before the measured time of a run of small requests, in seconds.
    let warmUpSeconds: Double
    /// The measured time of idle connections, in seconds.
    let idleSeconds = 3.0
    /// The size of the large body, in bytes.
    let largeBodySize: Int
    /// The size of the bodies that are lines, events and entries, in bytes.
    let textBodySize: Int

    /// Creates the extent that the options request: five rounds of two seconds and 1 GiB. With `--quick`, three short rounds; if everything
    /// is measured, which must take less than a minute, they are even shorter and use 128 MiB.
    init(_ options: Options) {
        let measuresAll = options.names.isEmpty
        rounds = options.rounds ?? (options.isQuick ? 3 : 5)
        instructionRounds = options.instructionRecord == .check ? 1 : min(rounds, Self.repeatedRounds)
        seconds = !options.isQuick ? 2 : measuresAll ? 0.18 : 0.4
        warmUpSeconds = !options.isQuick ? 0.3 : measuresAll ? 0.05 : 0.1
        textBodySize = options.isQuick && measuresAll ? 32_000_000 : 256_000_000
        largeBodySize = options.isQuick && measuresAll ? 128 << 20 : 1 << 30
    }

    /// The rounds in which instructions are counted where one count is not enough.
    static let repeatedRounds = 3

    /// Returns the two numbers of requests whose difference in instructions is counted.
    func instructionRequests(of benchmark: Benchmark) -> (fewer: Int, more: Int) {
        benchmark.name == InstructionRecord.reference ? (1_000, 3_000) : (500, 1_500)
    }

    /// Returns the number of bytes that a benchmark transfers.
    func bodySize(of benchmark: Benchmark) -> Int {
        benchmark.size ?? (benchmark.text == nil ? largeBodySize : textBodySize)
    }
}
