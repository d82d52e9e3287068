import CurlEngine
import FoundationEssentials

/// The file of a recorder. An entry is written in the place of the document's end, together with a new end, so that the file is a complete
/// document after every entry, however the process ends.
///
/// Every method but ``add(_:)`` can wait for a disk.
final class HARFile: Sendable {
    /// The entries that are still to be written, each as the function that makes it.
    private let pending = Locked<[@Sendable () throws -> Data]>([])
    /// The state of the writer, of which there is one at a time.
    private let writer: Locked<Writer>

    /// The path of the file.
    let path: String

    init(path: String) {
        self.path = path
        writer = Locked(Writer(path: path))
    }

    /// Adds an entry, without waiting for the disk.
    ///
    /// - Parameter entry: Returns the entry as JSON on one line. Called on the thread that writes.
    func add(_ entry: @escaping @Sendable () throws -> Data) { pending.withLock { $0.append(entry) } }

    /// Writes the entries that were added. Returns the failure because of which the file is not complete; `nil` if it is.
    @discardableResult
    func write() -> HARRecorder.FileFailure? {
        writer.withLock { writer in
            while true {
                let entries = pending.withLock { pending in
                    defer { pending = [] }
                    return pending
                }
                writer.write(entries)
                if entries.isEmpty { return writer.failure }
            }
        }
    }

    /// The writer of a file.
    private struct Writer {
        let path: String
        private var file: PartialFile?
        /// The offset of the end of the document, which the next entry replaces.
        private var offset: Int64 = 0
        private var isEmpty = true
        private(set) var failure: HARRecorder.FileFailure?

        init(path: String) { self.path = path }

        private static let end = Data("\n]}}\n".utf8)

        /// Writes entries, and creates the file if there is none. After a failure, does nothing.
        mutating func write(_ entries: [@Sendable () throws -> Data]) {
            guard failure == nil else { return }
            do {
                let file = try opened()
                var batch = Data()
                for entry in entries {
                    batch.append(contentsOf: (isEmpty ? "\n" : ",\n").utf8)
                    batch.append(try entry())
                    isEmpty = false
                }
                guard !batch.isEmpty else { return }
                try write(batch, to: file)
            } catch {
                failure = HARRecorder.FileFailure(path: path, why: (error as? FileFailure)?.why ?? "\(error)")
            }
        }

        /// Writes entries in the place of the document's end. If that fails, the document keeps the entries before them.
        private mutating func write(_ batch: Data, to file: PartialFile) throws(FileFailure) {
            do throws(FileFailure) {
                try file.write(batch + Self.end, at: offset)
                offset += Int64(batch.count)
            } catch {
                try? file.truncate(to: offset)
                try? file.write(Self.end, at: offset)
                throw error
            }
        }

        private mutating func opened() throws -> PartialFile {
            if let file { return file }
            try WholeFile.check(path: path)
            // The recording may hold what only its user may read.
            guard let file = try PartialFile.opened(path: path, mode: 0o600) else {
                throw FileFailure(
                    why: "another program is writing to it, or it does not belong to this user alone")
            }
            let creator = try HARDocument.encoder.encode(HARDocument.Creator.trellis)
            let start =
                Data(#"{"log":{"version":"1.2","creator":"#.utf8) + creator + Data(#","pages":[],"entries":["#.utf8)
            try file.truncate(to: 0)
            try file.write(start + Self.end, at: 0)
            offset = Int64(start.count)
            self.file = file
            return file
        }
    }
}
