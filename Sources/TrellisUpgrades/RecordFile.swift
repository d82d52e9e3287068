import CurlEngine
import FoundationEssentials
import TrellisCore

/// The access to a file of records, which reads and writes on a thread that may wait for a disk.
struct RecordFile<Format: RecordFormat>: Sendable {
    typealias Record = Format.Record

    let path: String
    /// The largest size of a file that is read or written, in bytes.
    var maximumSize = 16 << 20

    /// Reads the records that have not expired.
    func read(at now: Date) async throws(FileError) -> [String: Record] {
        try await BlockingThreadPool.trying(at: FileSystem.folder(of: path)) { () throws(FileError) in
            try contents(of: path, at: now).records
        }
    }

    private func contents(
        of path: String, at now: Date
    ) throws(FileError) -> (records: [String: Record], data: Data) {
        try WholeFile.check(path: path)
        guard let file = try WholeFile.read(path: path, limit: maximumSize) else { return ([:], Data()) }
        // A file of another kind must not be overwritten because of a mistake in a path.
        guard var records = Format.read(RecordLines(file.data)) else {
            throw FileError(reason: "it is not \(Format.kind), and stays as it is")
        }
        Format.trim(&records, at: now)
        return (records, file.data)
    }

    /// Merges changes into the present contents of the file, and returns the result.
    ///
    /// - Parameter isPatient: Whether the lock is waited for, about five seconds.
    func write(
        _ changes: RecordChanges<Record>, isPatient: Bool, at now: Date
    ) async throws(FileError) -> [String: Record] {
        try await FileLock.trying(for: path, isPatient: isPatient) { () throws(FileError) in
            try writeUnlessLocked(changes, at: now)
        }
    }

    /// Merges changes into the file; returns `nil` if another process has the lock.
    private func writeUnlessLocked(
        _ changes: RecordChanges<Record>, at now: Date
    ) throws(FileError) -> [String: Record]? {
        // Checked first, so that no lock is created beside a path that is not a regular file.
        try WholeFile.check(path: path)
        // The target is replaced, so that a symbolic link stays a link.
        let target = WholeFile.target(of: path)
        guard let lock = try FileLock.taken(path: target + ".lock") else { return nil }
        return try lock.whileHeld { () throws(FileError) in
            var (records, old) = try contents(of: target, at: now)
            changes.apply(to: &records)
            Format.trim(&records, at: now)
            let data = textThatFits(of: &records)
            if data != old { try WholeFile.replace(path: target, with: data) }
            return records
        }
    }

    /// Returns the text of a file with records. Above the largest size, the records that end first are removed: servers choose the length
    /// of their records, and a file that is too large would never be read again.
    private func textThatFits(of records: inout [String: Record]) -> Data {
        while true {
            let data = Data(Format.text(of: records.values.sorted { $0.key < $1.key }).utf8)
            guard data.count > maximumSize, !records.isEmpty else { return data }
            let ends = records.values.sorted { $0.end < $1.end }
            for record in ends.prefix(max(records.count / 8, 1)) { records[record.key] = nil }
        }
    }
}
