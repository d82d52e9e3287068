import Foundation

/// The instruction counts that CI checks: `instructions.json`, by libcurl's version and the architecture.
struct InstructionRecord: Codable {
    /// The number of CPU instructions that one small GET takes.
    struct Entry: Codable {
        var trellis: Double
        var libcurl: Double

        /// The instructions of Trellis, divided by those of the C program.
        var ratio: Double { trellis / libcurl }

        enum CodingKeys: String, CodingKey {
            case trellis, libcurl
        }
    }

    /// The result of a check.
    enum Verdict {
        case passed(String)
        case failed(String)
    }

    private var entries: [String: Entry] = [:]

    init(file: String) throws {
        guard FileManager.default.fileExists(atPath: file) else { return }
        entries = try JSONDecoder().decode([String: Entry].self, from: Data(readFile(file).utf8))
    }

    /// Records the counts as the ones to compare with.
    mutating func record(_ entry: Entry, key: String) {
        entries[key] = Entry(trellis: entry.trellis.rounded(), libcurl: entry.libcurl.rounded())
    }

    func write(to file: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try writeFile(String(decoding: encoder.encode(entries), as: UTF8.self) + "\n", to: file)
    }

    /// Compares the counts with the recorded ones.
    ///
    /// The ratio to the C program in the same run is comparable across machines, while another glibc or processor changes both counts. The
    /// absolute count is compared too, but only if the C program's own count is within 2 % of its record, that is, on a machine like the
    /// one on which the record was made.
    func check(_ entry: Entry, key: String) -> Verdict {
        guard let recorded = entries[key] else {
            return .passed("nothing is recorded for \(key): see --record-instructions")
        }
        let allowed = 1.05
        let growth = entry.ratio / recorded.ratio, absoluteGrowth = entry.trellis / recorded.trellis
        let isAlike = abs(entry.libcurl / recorded.libcurl - 1) <= 0.02
        let facts =
            "\(key): \(Int(entry.trellis)) instructions, \(format(entry.ratio)) times the C program's; recorded: "
            + "\(Int(recorded.trellis)), \(format(recorded.ratio)) times"
        if growth > allowed { return .failed("\(facts). The ratio rose by more than 5 %.") }
        if isAlike, absoluteGrowth > allowed { return .failed("\(facts). The count rose by more than 5 %.") }
        return .passed(facts)
    }

    private func format(_ value: Double) -> String { String(format: "%.3f", value) }
}
