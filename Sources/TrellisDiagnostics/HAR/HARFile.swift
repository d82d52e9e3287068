import CurlEngine
import FoundationEssentials
import TrellisCore

/// The file of a recorder. An entry is written in the place of the document's end, together with a new end, so that the file is a complete
/// document after every entry, however the process ends.
///
/// Every method but ``add(_:)`` can wait for a disk.
final class HARFile: Sendable {
    private struct Pending {
        /// The entries that are still to be written, each as the function that makes it.
        var entries: [@Sendable () throws -> Data] = []
        /// Whether a write has begun, or is going to, that nobody waits for.
        var isScheduled = false
    }

    private let pending = Locked(Pending())
    /// The state of the writer. There is one writer at a time.
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
    func add(_ entry: @escaping @Sendable () throws -> Data) { pending.withLock { $0.entries.append(entry) } }

    /// Begins to write the entries that were added, without waiting for the disk. A write that is under way takes them, too, so that a disk
    /// which hangs keeps one thread.
    ///
    /// - Parameter count: Returns the number of events that the recorder has lost.
    func beginWriting(droppedEventCount count: @escaping @Sendable () -> Int) {
        let isScheduled = pending.withLock { pending in
            defer { pending.isScheduled = true }
            return pending.isScheduled
        }
        if !isScheduled { BlockingThreadPool.beginWithHook(at: folder) { [self] in write(droppedEventCount: count()) } }
    }

    /// The folder of the file.
    var folder: String { FileSystem.folder(of: path) }

    /// Writes the entries that were added. Returns the failure that left the file incomplete, if any.
    ///
    /// - Parameter count: The number of events that the recorder has lost, which the comment of the document names.
    @discardableResult
    func write(droppedEventCount count: Int = 0) -> FileFailure? {
        writer.withLock { writer in
            while true {
                let entries = pending.withLock { pending in
                    defer { pending.entries = [] }
                    // What is added from now on begins another write.
                    if pending.entries.isEmpty { pending.isScheduled = false }
                    return pending.entries
                }
                writer.write(entries, droppedEventCount: count)
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
        /// The number of lost events that the document's end tells.
        private var droppedEventCount = 0
        private(set) var failure: FileFailure?

        init(path: String) { self.path = path }

        /// Returns the end of a document, with a comment if events were lost.
        private static func end(droppedEventCount count: Int) -> Data {
            let comment = HARDocument.comment(droppedEventCount: count).map { #","comment":"\#($0)""# }
            return Data("\n]\(comment ?? "")}}\n".utf8)
        }

        /// Writes entries and the number of lost events, and creates the file if there is none. After a failure, does nothing.
        mutating func write(_ entries: [@Sendable () throws -> Data], droppedEventCount count: Int) {
            guard failure == nil else { return }
            do {
                let file = try opened()
                var batch = Data()
                for entry in entries {
                    batch.append(contentsOf: (isEmpty ? "\n" : ",\n").utf8)
                    batch.append(try entry())
                    isEmpty = false
                }
                // The number grows, and so an end is never shorter than the one in its place.
                guard !batch.isEmpty || count > droppedEventCount else { return }
                try write(batch, droppedEventCount: max(count, droppedEventCount), to: file)
            } catch {
                failure = FileFailure(path: path, reason: (error as? FileError)?.reason ?? "\(error)")
            }
        }

        /// Writes entries in the place of the document's end. If that fails, the document keeps the entries before them.
        private mutating func write(
            _ batch: Data, droppedEventCount count: Int, to file: PartialFile
        ) throws(FileError) {
            do throws(FileError) {
                try file.write(batch + Self.end(droppedEventCount: count), at: offset)
                offset += Int64(batch.count)
                droppedEventCount = count
            } catch {
                try? file.truncate(to: offset)
                try? file.write(Self.end(droppedEventCount: droppedEventCount), at: offset)
                throw error
            }
        }

        private mutating func opened() throws -> PartialFile {
            if let file { return file }
            try WholeFile.check(path: path)
            // The recording may hold what only its user may read.
            guard let file = try PartialFile.opened(path: path, mode: 0o600) else {
                throw FileError(
                    reason: "another program is writing to it, or it does not belong to this user alone")
            }
            let creator = try HARDocument.encoder.encode(HARDocument.Creator.trellis)
            let start =
                Data(#"{"log":{"version":"1.2","creator":"#.utf8) + creator + Data(#","pages":[],"entries":["#.utf8)
            try file.truncate(to: 0)
            try file.write(start + Self.end(droppedEventCount: 0), at: 0)
            offset = Int64(start.count)
            self.file = file
            return file
        }
    }
}
