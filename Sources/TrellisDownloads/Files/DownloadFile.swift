import CurlEngine
import FoundationEssentials
import TrellisCore

/// The file of a download: its destination, the partial file beside it, and the checkpoint from which later downloads learn which
/// bytes the partial file has.
///
/// All of this can wait for a disk, and so runs in the download's own task, on threads for that purpose (``BlockingExecutor``).
final class DownloadFile: Sendable {
    /// The path of the destination.
    let target: String
    private let options: DownloadDestination.Options
    private let partial: PartialFile
    /// The path of the checkpoint; `nil` if no later download is to find the partial file.
    private let checkpointPath: String?

    init(target: String, options: DownloadDestination.Options, partial: PartialFile, checkpointPath: String?) {
        self.target = target
        self.options = options
        self.partial = partial
        self.checkpointPath = checkpointPath
    }

    /// The path of the partial file.
    var path: String { partial.path }

    /// Whether later downloads to the same destination find the partial file.
    var isShared: Bool { checkpointPath != nil }

    /// The length of the partial file in bytes.
    var length: Int64 { partial.length }

    // MARK: Bytes

    func write(_ data: Data, at offset: Int64) throws(TrellisError) {
        try attributingErrors { () throws(FileError) in try partial.write(data, at: offset) }
    }

    func read(at offset: Int64) throws(TrellisError) -> Data {
        try attributingErrors { () throws(FileError) in try partial.read(atMost: 1 << 20, at: offset) }
    }

    /// Waits until the bytes written up to now are on the disk; returns `false` if the file system has no means for that.
    func synchronizeData() throws(FileError) -> Bool { try partial.synchronizeData() }

    /// Waits as ``synchronizeData()`` does, also for the values of ``stamp``.
    func synchronize() throws(FileError) -> Bool { try partial.synchronize() }

    // MARK: Checkpoints

    /// Returns the checkpoint of the partial file; `nil` if there is none, or it is of another URL. In a folder that others can write to,
    /// one of theirs could claim that the bytes of the partial file belong to another representation.
    func found(for url: String) -> ResumeData? {
        guard let checkpointPath,
            let file = try? WholeFile.read(path: checkpointPath, limit: 256 << 10, ofThisUserAlone: true),
            let data = try? JSONDecoder().decode(ResumeData.self, from: file.data), data.url.hasSameBytes(as: url)
        else { return nil }
        return data
    }

    /// Returns a checkpoint reduced to the bytes that can be trusted: those that were on the disk before the checkpoint, and
    /// those that the kernel was given since then, if the machine has not been restarted and the kernel has them on the disk now.
    func trusted(_ checkpoint: ResumeData) -> ResumeData {
        guard checkpoint.stamp == nil, let pending = checkpoint.pending else { return checkpoint }
        let certain = checkpoint.with(done: checkpoint.done)
        guard pending.boot == BootID.id else { return certain }
        do throws(FileError) {
            return try synchronizeData() ? checkpoint.with(done: pending.written) : certain
        } catch {
            // The kernel reports a failure once: a later download must not find these bytes in the checkpoint.
            writeCheckpoint(certain, isDurable: true)
            return certain
        }
    }

    /// Writes a checkpoint of the partial file, completely or not at all. Only one thread may call this at a time.
    ///
    /// - Parameter isDurable: Whether the checkpoint has to be on the disk when the call returns.
    /// - Returns: `true` if the checkpoint exists for a later download.
    @discardableResult
    func writeCheckpoint(_ data: ResumeData, isDurable: Bool) -> Bool {
        guard let checkpointPath, let bytes = try? JSONEncoder().encode(data) else { return false }
        return (try? WholeFile.replace(path: checkpointPath, with: bytes, isDurable: isDurable)) != nil
    }

    /// Returns whether an earlier checkpoint still holds: each range that it lists, up to the length of the file, is within one
    /// of `data`.
    func hasCheckpoint(like data: ResumeData) -> Bool {
        guard let checkpoint = found(for: data.url), checkpoint.representation == data.representation else {
            return false
        }
        let length = length
        return (checkpoint.done + (checkpoint.pending?.written ?? [])).map { $0.clamped(to: 0..<length) }.allSatisfy {
            range in
            range.isEmpty || data.done.contains { $0.contains(range) }
        }
    }

    /// Deletes the checkpoint, and the temporary file of a checkpoint.
    func removeCheckpoint() {
        guard let checkpointPath else { return }
        FileSystem.deleteIfPossible(checkpointPath)
        // The temporary file of a process that ended while it wrote a checkpoint.
        FileSystem.deleteIfPossible(checkpointPath + ".new")
    }

    /// Deletes the checkpoint, and makes sure of that before the bytes change: a checkpoint must never be about other bytes, also
    /// after a failure of the machine.
    ///
    /// - Throws: ``TrellisError`` if the checkpoint cannot be deleted.
    func removeCheckpointDurably() throws(TrellisError) {
        // A temporary file that is left is replaced by the next checkpoint, or deleted at the end of the download.
        guard let checkpointPath, (try? FileSystem.kind(at: checkpointPath)) != .nothing else { return }
        removeCheckpoint()
        try attributingErrors { () throws(FileError) in
            guard try FileSystem.kind(at: checkpointPath) == .nothing else {
                throw FileError(reason: "its checkpoint cannot be removed")
            }
        }
        FileSystem.synchronize(folder: FileSystem.folder(of: checkpointPath))
    }

    // MARK: Changes by other processes

    /// The size and the modification time of the partial file now, for a later download that resumes it.
    var stamp: PartialFile.Stamp? { partial.stamp }

    /// Returns whether the partial file has not been written to since the resume data was made.
    func isAsLeft(by data: ResumeData) -> Bool { data.stamp != nil && data.stamp == stamp }

    /// Returns whether the partial file is still at its path, with at least `length` bytes.
    func isThere(with length: Int64) -> Bool { partial.isInPlace && self.length >= length }

    /// Throws an error if another process has deleted the partial file or its folder, or has shortened the file.
    func check() throws(TrellisError) {
        try attributingErrors { () throws(FileError) in
            try partial.check()
            if partial.isInPlace { return }
            let folder = FileSystem.folder(of: path)
            guard try FileSystem.kind(at: folder) == .folder else {
                throw FileError(reason: "its folder is not there any more")
            }
            throw PartialFile.isGone
        }
    }

    /// Moves a partial file without a checkpoint to a path of its own, so that no other download deletes it as abandoned. Does
    /// nothing to a file with a checkpoint.
    func setAside() throws(TrellisError) {
        guard !isShared else { return }
        _ = try attributingErrors { () throws(FileError) in
            try partial.move(elsewhere: Self.placeAside(of: target))
        }
    }

    // MARK: End of the download

    /// Deletes the checkpoint and all bytes, which are unusable.
    func reset() throws(TrellisError) {
        try removeCheckpointDurably()
        try attributingErrors { () throws(FileError) in try partial.truncate(to: 0) }
    }

    /// Shortens the partial file to `length`, because the bytes after that are unusable.
    func truncate(to length: Int64) throws(TrellisError) {
        guard self.length > length else { return }
        try attributingErrors { () throws(FileError) in try partial.truncate(to: length) }
    }

    /// Deletes the partial file and its checkpoint.
    func discard() {
        // The checkpoint may be another download's, if the partial file is gone.
        guard partial.isInPlace else { return }
        removeCheckpoint()
        partial.remove()
    }

    /// Moves the partial file to the destination.
    func finish(size: Int64) async throws(TrellisError) {
        try check()
        try truncate(to: size)
        if options.contains(.synchronize) {
            try await waiting { () throws(FileError) in
                guard try self.partial.synchronize() else {
                    throw FileError(reason: "its file system does not support fsync")
                }
            }
        }
        let mayReplace = options.contains(.removePreviousFile)
        let isFree = try attributingErrors { () throws(FileError) -> Bool in
            if mayReplace { return true }
            return try FileSystem.kind(at: target) == .nothing
        }
        guard isFree else { throw TrellisError(.downloadFailed(.exists(path: target))) }
        // Before the move: as soon as the partial file has another name, its old one and the checkpoint may be another download's.
        removeCheckpoint()
        let isMoved = try attributingErrors { () throws(FileError) in
            try partial.move(to: target, replacing: mayReplace)
        }
        guard isMoved else { throw TrellisError(.downloadFailed(.exists(path: target))) }
        if options.contains(.synchronize) {
            try await waiting { FileSystem.synchronize(folder: FileSystem.folder(of: self.target)) }
        }
    }

    /// Replaces all bytes with the bytes of a file on another file system, and deletes that file.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, before the next MiB is copied. The other file then
    ///   stays.
    func copy(from path: String) async throws {
        try reset()
        let isCancelled = Locked(false)
        try await withTaskCancellationHandler {
            try await waiting { () throws(FileError) in
                let length = try FileReader.size(path: path)
                let reader = try FileReader(path: path, length: length)
                var offset: Int64 = 0
                while offset < length {
                    if isCancelled.withLock({ $0 }) { return }
                    let chunk = try reader.read(atMost: 1 << 20, at: offset)
                    try self.partial.write(chunk, at: offset)
                    offset += Int64(chunk.count)
                }
                _ = try self.partial.synchronize()
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
        // The copy may be incomplete.
        try Task.checkCancellation()
        try await waiting { _ = FileSystem.deleteIfPossible(path) }
    }

    /// Runs `body` on a thread for blocking work, so that the download's task can be suspended meanwhile.
    private func waiting(_ body: @escaping @Sendable () throws(FileError) -> Void) async throws(TrellisError) {
        let result = await BlockingThreadPool.run(at: FileSystem.folder(of: path)) { () -> Result<Void, FileError> in
            do throws(FileError) { return .success(try body()) } catch { return .failure(error) }
        }
        try attributingErrors { () throws(FileError) in try result.get() }
    }

    /// Returns the file with the bytes of a partial file at another path, and with the permissions of this one.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, which leaves the bytes at their path.
    func adopting(_ other: PartialFile) async throws -> DownloadFile {
        let (path, elsewhere) = (path, other.path)
        try removeCheckpointDurably()
        let isMoved = try attributingErrors { () throws(FileError) in
            // Before the move: a private file must not be readable for others at any time.
            try other.takePermissions(of: partial)
            return try other.move(elsewhere: path)
        }
        guard isMoved else {
            do { try await copy(from: elsewhere) } catch {
                discard()
                throw error
            }
            return self
        }
        return DownloadFile(target: target, options: options, partial: other, checkpointPath: checkpointPath)
    }

    /// Calls `body`, and turns its failure into an error that names the destination.
    private func attributingErrors<Value>(
        _ body: () throws(FileError) -> Value
    ) throws(TrellisError) -> Value {
        try Self.attributingErrors(to: target, body)
    }
}
