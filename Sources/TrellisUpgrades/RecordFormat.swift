import CurlEngine
import FoundationEssentials
import TrellisCore

/// A record of a store: a host or an origin, with something that is known of it until a date.
protocol StoredRecord: Sendable {
    /// The text that is unique to the record, in ASCII.
    var key: String { get }
    /// The date until which the record is valid.
    var end: Date { get }
    /// Returns whether the other record is the same in everything but its end.
    func differsOnlyInItsEnd(from other: Self) -> Bool
}

/// The format of a file of records: one or more lines of text for each record, and comments after `#`.
protocol RecordFormat: SendableMetatype {
    associatedtype Record: StoredRecord

    /// The kind of the file in words, with its article.
    static var kind: String { get }
    /// The largest number of records that a store keeps.
    static var limit: Int { get }
    /// Returns the records of a file by their keys; `nil` if the file is of another kind.
    static func read(_ lines: RecordLines) -> [String: Record]?
    /// Returns the text of a file with records.
    static func text(of records: [Record]) -> String
}

/// The lines of a file of records.
struct RecordLines {
    /// The lines with records: without comments, empty lines, and blanks at both ends.
    let texts: [Substring]
    private let first: Substring

    init(_ data: Data) {
        let lines = String(decoding: data, as: UTF8.self).split(atByte: "\n").map { Substring($0.utf8.trimmingLine) }
        first = lines.first ?? ""
        texts = lines.filter { !$0.isEmpty && !$0.hasBytePrefix("#") }
    }

    /// Reads the lines, and leaves out those that cannot be read, as curl does.
    ///
    /// - Parameter header: The first line of files in the format.
    /// - Returns: `nil` if the file is of another kind: it has lines, none of them can be read, and the first line does not name the format
    ///   with the same words before the first full stop.
    func reading<Line>(_ header: String, _ read: (Substring) -> Line?) -> [Line]? {
        let lines = texts.compactMap(read)
        let isKnown = texts.isEmpty || !lines.isEmpty || first.hasBytePrefix(String(header.prefix(beforeBytes: ".")))
        return isKnown ? lines : nil
    }
}

extension Substring.UTF8View {
    /// The bytes without blanks and carriage returns at both ends.
    fileprivate var trimmingLine: Substring.UTF8View {
        var slice = self
        while let first = slice.first, first == 0x20 || first == 0x09 { slice = slice.dropFirst() }
        while let last = slice.last, last == 0x20 || last == 0x09 || last == 0x0d { slice = slice.dropLast() }
        return slice
    }
}

/// The changes of a store that are not in its file yet.
struct RecordChanges<Record: StoredRecord>: Sendable {
    /// Whether all earlier records are removed.
    var clears = false
    /// The new records by their keys; `nil` for a record that is removed.
    var records: [String: Record?] = [:]

    var isEmpty: Bool { !clears && records.isEmpty }

    /// Applies the changes to records.
    func apply(to all: inout [String: Record]) {
        if clears { all = [:] }
        for (key, record) in records { all[key] = record }
    }

    /// Returns these changes followed by later ones.
    func followed(by later: RecordChanges) -> RecordChanges {
        if later.clears { return later }
        var changes = self
        changes.records.merge(later.records) { $1 }
        return changes
    }
}

extension RecordFormat {
    /// Removes the records that have expired and, above the limit, those that end first.
    static func trim(_ records: inout [String: Record], at now: Date) {
        records = records.filter { now < $0.value.end }
        guard records.count > limit else { return }
        let ends = records.values.sorted { $0.end < $1.end }
        for record in ends.prefix(records.count - limit) { records[record.key] = nil }
    }
}
