import CurlEngine
import FoundationEssentials

/// The reason why the file of an ``HSTSStore`` or an ``AlternativeServiceStore`` cannot be used.
public struct StoreFileFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    public let path: String
    /// The reason in words, from the system if the system refused.
    public let why: String
    /// A description with the path and the reason.
    public var description: String { "the file \(path) cannot be used: \(why)" }
}

/// The access to a file of records, which reads and writes on a thread that may wait for a disk.
struct RecordFile<Format: RecordFormat>: Sendable {
    typealias Record = Format.Record

    /// The largest size of a file that is read, in bytes.
    private static var maximumSize: Int { 16 << 20 }

    let path: String

    /// Reads the records that have not expired.
    func read(at now: Date) async throws(FileReader.Failure) -> [String: Record] {
        try await BlockingThreadPool.trying { () throws(FileReader.Failure) in try contents(of: path, at: now).records }
    }

    private func contents(
        of path: String, at now: Date
    ) throws(FileReader.Failure) -> (records: [String: Record], data: Data) {
        try WholeFile.check(path: path)
        guard let file = try WholeFile.read(path: path, limit: Self.maximumSize) else { return ([:], Data()) }
        // A file of another kind must not be overwritten because of a mistake in a path.
        guard var records = Format.read(RecordLines(file.data)) else {
            throw FileReader.Failure(why: "it is not \(Format.kind), and stays as it is")
        }
        Format.trim(&records, at: now)
        return (records, file.data)
    }

    /// Merges changes into the present contents of the file, and returns the result.
    ///
    /// - Parameter isPatient: Indicates whether the lock is waited for, about five seconds.
    func write(
        _ changes: RecordChanges<Record>, isPatient: Bool, at now: Date
    ) async throws(FileReader.Failure) -> [String: Record] {
        try await FileLock.trying(for: path, isPatient: isPatient) { () throws(FileReader.Failure) in
            try writeUnlessLocked(changes, at: now)
        }
    }

    /// Merges changes into the file; returns `nil` if another process has the lock.
    private func writeUnlessLocked(
        _ changes: RecordChanges<Record>, at now: Date
    ) throws(FileReader.Failure) -> [String: Record]? {
        // Checked first, so that no lock is created beside a path that is not a regular file.
        try WholeFile.check(path: path)
        // The target is replaced, so that a symbolic link stays a link.
        let target = WholeFile.target(of: path)
        guard let lock = try FileLock.taken(path: target + ".lock") else { return nil }
        return try lock.whileHeld { () throws(FileReader.Failure) in
            var (records, old) = try contents(of: target, at: now)
            changes.apply(to: &records)
            Format.trim(&records, at: now)
            let data = Data(Format.text(of: records.values.sorted { $0.key < $1.key }).utf8)
            if data != old { try WholeFile.replace(path: target, with: data) }
            return records
        }
    }
}
