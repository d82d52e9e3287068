import CurlEngine
import FoundationEssentials
import TrellisCore

/// The writer of the checkpoints of a partial file as it grows. A checkpoint never lists bytes that the disk does not have: the file
/// is synchronized first, then the checkpoint is written, synchronized and renamed.
///
/// The download does not wait for that: it ends as soon as the file has its name, and no checkpoint is written from then on.
final class CheckpointWriter: Sendable {
    /// The state of the checkpoint file; its lock is held while a checkpoint is written.
    private struct State: Sendable {
        /// Whether the writer is closed: no checkpoint is written any more.
        var isClosed = false
        /// The last durable checkpoint, which lists only bytes that are on the disk.
        var saved: ResumeData?
        /// The failure of a synchronization: some of the bytes written before are lost, and the system does not report which.
        var failure: FileError?
    }

    /// The work of ``save(_:)``.
    private struct Saving: Sendable {
        /// The task that writes checkpoints; `nil` if there is nothing to write.
        var task: Task<Void, Never>?
        /// The checkpoint to write after the present one; `nil` if there is none.
        var next: ResumeData?

        /// Takes the next checkpoint. If there is none, the task is over, and a later checkpoint needs another one.
        mutating func takeNext() -> ResumeData? {
            defer { next = nil }
            if next == nil { task = nil }
            return next
        }
    }

    private let file: DownloadFile
    /// The state under a lock, which every thread that writes a checkpoint holds.
    private let state = Locked(State())
    private let saving = Locked(Saving())

    init(_ file: DownloadFile) { self.file = file }

    /// Whether a durable checkpoint has been written.
    var hasSaved: Bool { state.withLock { $0.saved != nil } }

    /// Whether the disk has refused bytes that were written.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Throws an error if the disk has refused bytes that were written.
    func check() throws(TrellisError) {
        if let failure = state.withLock({ $0.failure }) { throw .download(file.target, failure) }
    }

    /// Writes the first checkpoint before any bytes are written to the file. If the file has bytes already, they are on the disk
    /// when the call returns, and so is the checkpoint.
    ///
    /// - Returns: `true` if the checkpoint was written; otherwise an earlier checkpoint may still exist.
    @discardableResult
    func begin(_ data: ResumeData) -> Bool { data.done.isEmpty ? writeProvisional(data) : write(data) }

    /// Writes a checkpoint of the bytes that the kernel has been given, without synchronizing the file. Does nothing once a durable
    /// checkpoint exists, which says more.
    ///
    /// - Returns: `true` if the checkpoint was written.
    @discardableResult
    func writeProvisional(_ data: ResumeData) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.saved == nil else { return false }
            return file.writeCheckpoint(data, isDurable: false)
        }
    }

    /// Writes a checkpoint of the bytes that were written before the call, as soon as they are on the disk. Returns at once.
    ///
    /// While the disk is busy with a checkpoint, only the newest of the later ones waits for it: the bytes of a download that then
    /// stalls are in a checkpoint too.
    func save(_ data: ResumeData) {
        saving.withLock { saving in
            guard saving.task == nil else { return saving.next = data }
            let folder = FileSystem.folder(of: file.target)
            saving.task = Task(executorPreference: BlockingExecutor.disk(at: folder)) { [self] in
                var next: ResumeData? = data
                while let data = next {
                    _ = write(data)
                    next = self.saving.withLock { $0.takeNext() }
                }
            }
        }
    }

    /// Synchronizes the file and writes a durable checkpoint.
    ///
    /// - Returns: `true` if the checkpoint was written.
    private func write(_ data: ResumeData) -> Bool {
        guard !state.withLock({ $0.isClosed }) else { return false }
        do throws(FileError) { guard try file.synchronizeData() else { return false } } catch {
            fail(error)
            return false
        }
        return state.withLock { state in
            guard !state.isClosed, file.writeCheckpoint(data, isDurable: true) else { return false }
            state.saved = data
            return true
        }
    }

    /// Records a failed synchronization, and restores the last durable checkpoint.
    private func fail(_ failure: FileError) {
        state.withLock { state in
            state.failure = failure
            if !state.isClosed { _ = fallBack(&state) }
        }
    }

    /// Restores the last durable checkpoint after the disk has refused bytes. From then on only the bytes of that checkpoint are
    /// trusted, also after a later success: the kernel reports such a failure once, and has then forgotten the bytes that it
    /// could not write.
    ///
    /// - Returns: `true` if a checkpoint is left.
    func fallBack() -> Bool { state.withLock { fallBack(&$0) } }

    private func fallBack(_ state: inout State) -> Bool {
        state.isClosed = true
        if let saved = state.saved, file.writeCheckpoint(saved.with(done: saved.done), isDurable: true) { return true }
        file.removeCheckpoint()
        return false
    }

    /// Closes the writer: no checkpoint is written after this has returned. Waits for a checkpoint that is being written, but not
    /// for a synchronization.
    func close() { state.withLock { $0.isClosed = true } }

    /// Closes the writer as ``close()`` does, and waits for the synchronization that is under way.
    func end() async {
        close()
        await saving.withLock { $0.task }?.value
    }
}
