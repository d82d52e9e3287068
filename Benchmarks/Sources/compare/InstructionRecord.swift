import Foundation

/// The instruction counts that CI checks: `instructions.json`, by libcurl's version and the architecture.
struct InstructionRecord {
    /// The counts of one benchmark, per request.
    struct Entry: Codable {
        var trellis: Double
        /// The count of the C program; `nil` if the program does not do the same work.
        var libcurl: Double?
    }

    /// The counts of one run, by the benchmark's name without `instructions/`.
    typealias Counts = [String: Entry]

    /// The name of the benchmark whose counts the others are compared with.
    static let reference = "instructions/small-get"

    /// The result of the check of one benchmark.
    struct Check {
        /// The name of the benchmark, without `instructions/`.
        var name: String
        /// The line to print.
        var facts: String
        var hasFailed: Bool
        /// Indicates whether the count is so far from its record, in either direction, that it has to be counted in more rounds.
        var isDoubtful: Bool
    }

    private static let prefix = "instructions/"
    private var entries: [String: Counts] = [:]

    init(file: String) throws {
        guard FileManager.default.fileExists(atPath: file) else { return }
        entries = try JSONDecoder().decode([String: Counts].self, from: Data(readFile(file).utf8))
    }

    /// Returns the counts that the rows contain.
    static func counts(in rows: [Row]) -> Counts {
        let counted = rows.filter { $0.benchmark.hasPrefix(prefix) }
        return counted.reduce(into: [:]) { counts, row in
            guard row.client == .trellis, let trellis = row.instructionsPerRequest else { return }
            let peer = counted.first { $0.client == .libcurl && $0.benchmark == row.benchmark }
            counts[String(row.benchmark.dropFirst(prefix.count))] = Entry(
                trellis: trellis.rounded(), libcurl: peer?.instructionsPerRequest?.rounded())
        }
    }

    /// Records the counts as the ones to compare with.
    mutating func record(_ counts: Counts, key: String) { entries[key] = counts }

    func write(to file: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try writeFile(String(decoding: encoder.encode(entries), as: UTF8.self) + "\n", to: file)
    }

    /// Compares the counts with the recorded ones.
    ///
    /// The ratio to the C program in the same run is comparable across machines, while another glibc or processor changes both counts. The
    /// C program's count is that of the same work or, if the program does not do the work, that of a small GET. The absolute count is
    /// compared too, but only if the C program's own count is within 2 % of its record, that is, on a machine like the one on which the
    /// record was made.
    func check(_ counts: Counts, key: String) -> [Check] {
        counts.sorted { $0.key < $1.key }.map { name, count in
            guard let peer = peer(of: name, in: counts) else {
                let facts = "\(name): the C program was not counted."
                return Check(name: name, facts: facts, hasFailed: true, isDoubtful: true)
            }
            let ratio = count.trellis / peer
            var facts = "\(name): \(Int(count.trellis)) instructions, \(format(ratio)) times the C program's; "
            guard let recorded = entries[key] else {
                // Another libcurl or architecture has no counts to compare with.
                facts += "nothing is recorded for \(key)"
                return Check(name: name, facts: facts, hasFailed: false, isDoubtful: false)
            }
            guard let before = recorded[name], let peerBefore = self.peer(of: name, in: recorded) else {
                facts += "it is not recorded for \(key)"
                return Check(name: name, facts: facts, hasFailed: true, isDoubtful: true)
            }
            let ratioBefore = before.trellis / peerBefore
            facts += "recorded for \(key): \(Int(before.trellis)), \(format(ratioBefore)) times"
            let isAlike = abs(peer / peerBefore - 1) <= 0.02
            let ratioRose = ratio / ratioBefore > Self.allowed
            let countRose = isAlike && count.trellis / before.trellis > Self.allowed
            if ratioRose || countRose { facts += ". The \(ratioRose ? "ratio" : "count") rose by more than 5 %." }
            let ratioDiffers = abs(ratio / ratioBefore - 1) > Self.trusted
            let countDiffers = isAlike && abs(count.trellis / before.trellis - 1) > Self.trusted
            return Check(
                name: name, facts: facts, hasFailed: ratioRose || countRose, isDoubtful: ratioDiffers || countDiffers)
        }
    }

    private static let allowed = 1.05
    /// The difference from the record up to which one count is enough.
    private static let trusted = 0.03

    /// Returns the C program's count for the same work or, if there is none, for a small GET.
    private func peer(of name: String, in counts: Counts) -> Double? {
        counts[name]?.libcurl ?? counts[String(Self.reference.dropFirst(Self.prefix.count))]?.libcurl
    }

    private func format(_ value: Double) -> String { String(format: "%.3f", value) }
}
