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
        /// Whether the count is so far from its record, in either direction, that it has to be counted in more rounds.
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
    /// The ratio of two counts of the same run is comparable across machines, while another glibc or processor changes both counts. A row
    /// that the C program has too is compared with the C program, a row that Trellis alone has with Trellis's own small GET: both send
    /// requests, so that the number of events that one wait for sockets reports changes both alike. A row without a connection is compared
    /// by its count. The count is also compared where the C program's own count is within 2 % of its record, that is, on a machine
    /// like the one on which the record was made. A higher ratio is no failure while the count itself is at its record or below: beside other
    /// work each wait reports more events, which lowers the counts of the C program and of the small GET more than those of other rows.
    func check(_ counts: Counts, key: String) -> [Check] {
        counts.filter { !Self.unguarded.contains($0.key) }.sorted { $0.key < $1.key }.map { name, count in
            guard let recorded = entries[key] else {
                // Another libcurl or architecture has no counts to compare with.
                let facts = "\(name): \(Int(count.trellis)) instructions; nothing is recorded for \(key)"
                return Check(name: name, facts: facts, hasFailed: false, isDoubtful: false)
            }
            guard let before = recorded[name] else {
                let facts = "\(name): \(Int(count.trellis)) instructions; it is not recorded for \(key)"
                return Check(name: name, facts: facts, hasFailed: true, isDoubtful: true)
            }
            var facts = "\(name): \(Int(count.trellis)) instructions, recorded for \(key): \(Int(before.trellis))"
            let countChange = count.trellis / before.trellis
            if Self.withoutConnection.contains(name) {
                if countChange > Self.allowed { facts += ". The count rose by more than 5 %." }
                return Check(
                    name: name, facts: facts, hasFailed: countChange > Self.allowed,
                    isDoubtful: abs(countChange - 1) > Self.trusted)
            }
            guard let compared = Self.compared(name, in: counts),
                let comparedBefore = Self.compared(name, in: recorded),
                let peer = counts[Self.smallGet]?.libcurl, let peerBefore = recorded[Self.smallGet]?.libcurl
            else {
                facts += ". What it is compared with was not counted."
                return Check(name: name, facts: facts, hasFailed: true, isDoubtful: true)
            }
            let (ratio, ratioBefore) = (count.trellis / compared, before.trellis / comparedBefore)
            let other = count.libcurl == nil ? "a small GET's" : "the C program's"
            facts += "; \(format(ratio)) times \(other), recorded \(format(ratioBefore))"
            let isAlike = abs(peer / peerBefore - 1) <= 0.02
            let ratioRose = ratio / ratioBefore > Self.allowed && countChange > Self.spread
            let countRose = isAlike && countChange > Self.allowed
            if ratioRose || countRose { facts += ". The \(ratioRose ? "ratio" : "count") rose by more than 5 %." }
            let ratioDiffers = abs(ratio / ratioBefore - 1) > Self.trusted
            let countDiffers = isAlike && abs(countChange - 1) > Self.trusted
            return Check(
                name: name, facts: facts, hasFailed: ratioRose || countRose, isDoubtful: ratioDiffers || countDiffers)
        }
    }

    private static let allowed = 1.05
    /// The factor up to which a count is at its record: the spread of counts of the same program.
    private static let spread = 1.02
    /// The difference from the record up to which one count is enough.
    private static let trusted = 0.03

    private static let smallGet = String(reference.dropFirst(prefix.count))
    /// The rows that are recorded, and not compared: the number of requests that leave in one write scatters.
    private static let unguarded: Set = ["tls-h2-get-64"]
    /// The rows that make no connection, whose counts do not depend on a server's pace.
    private static let withoutConnection: Set = ["mocked-get", "cached-get"]

    /// Returns the count that a row is compared with: the C program's for the same work or, if there is none, Trellis's small GET.
    private static func compared(_ name: String, in counts: Counts) -> Double? {
        counts[name]?.libcurl ?? counts[smallGet]?.trellis
    }

    private func format(_ value: Double) -> String { String(format: "%.3f", value) }
}
