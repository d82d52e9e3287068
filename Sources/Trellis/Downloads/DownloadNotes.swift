import CurlEngine
import FoundationEssentials

/// Writes the checkpoints (notes) of a partial file as it grows. A note never lists bytes that the disk does not have: the file
/// is synchronized first, then the note is written, synchronized and renamed.
///
/// The download does not wait for that: it ends as soon as the file has its name, and no note is written from then on.
final class DownloadNotes: Sendable {
    /// The state of the note file; its lock is held while a note is written.
    private struct Pen: Sendable {
        /// Indicates whether notes are closed: none is written any more.
        var isPutAway = false
        /// The last durable note, which lists only bytes that are on the disk.
        var saved: ResumeData?
        /// The failure of a synchronization: some of the bytes written before are lost, and the system does not tell which.
        var failure: FileReader.Failure?
    }

    private let file: DownloadFile
    /// The state under a lock, which every thread that writes a note holds.
    private let pen = Locked(Pen())
    /// The synchronization that is under way; `nil` if there is none.
    private let saving = Locked<Task<Void, Never>?>(nil)

    init(_ file: DownloadFile) { self.file = file }

    /// Indicates whether a durable note has been written.
    var hasSaved: Bool { pen.withLock { $0.saved != nil } }

    /// Indicates whether the disk has refused bytes that were written.
    var hasFailed: Bool { pen.withLock { $0.failure != nil } }

    /// Throws an error if the disk has refused bytes that were written.
    func check() throws(TrellisError) {
        if let failure = pen.withLock({ $0.failure }) { throw .download(file.target, failure) }
    }

    /// Writes the first note before any bytes are written to the file. If the file has bytes already, they are on the disk when
    /// this returns, and so is the note.
    ///
    /// - Returns: `true` if the note was written; otherwise an earlier note may still be there.
    @discardableResult
    func begin(_ data: ResumeData) -> Bool { data.done.isEmpty ? jot(data) : write(data) }

    /// Writes a note of the bytes that the kernel has been given, without synchronizing the file. Does nothing once a durable
    /// note exists, which says more.
    ///
    /// - Returns: `true` if the note was written.
    @discardableResult
    func jot(_ data: ResumeData) -> Bool {
        pen.withLock { pen in
            guard !pen.isPutAway, pen.saved == nil else { return false }
            return file.takeNote(data, isDurable: false)
        }
    }

    /// Notes the bytes that were written before the call, as soon as they are on the disk. Returns at once, and does nothing
    /// while the disk is still busy with the last note.
    func save(_ data: ResumeData) {
        saving.withLock { saving in
            guard saving == nil else { return }
            saving = Task(executorPreference: DiskExecutor.shared) { [self] in
                _ = write(data)
                self.saving.withLock { $0 = nil }
            }
        }
    }

    /// Synchronizes the file and writes a durable note.
    ///
    /// - Returns: `true` if the note was written.
    private func write(_ data: ResumeData) -> Bool {
        guard !pen.withLock({ $0.isPutAway }) else { return false }
        do throws(FileReader.Failure) { guard try file.synchronizeData() else { return false } } catch {
            fail(error)
            return false
        }
        return pen.withLock { pen in
            guard !pen.isPutAway, file.takeNote(data, isDurable: true) else { return false }
            pen.saved = data
            return true
        }
    }

    /// Records a failed synchronization, and restores the last durable note.
    private func fail(_ failure: FileReader.Failure) {
        pen.withLock { pen in
            pen.failure = failure
            if !pen.isPutAway { _ = fallBack(&pen) }
        }
    }

    /// Restores the last durable note after the disk has refused bytes. From then on only the bytes of that note are trusted, also
    /// after a later success: the kernel reports such a failure once, and has then forgotten the bytes that it could not write.
    ///
    /// - Returns: `true` if a note is left.
    func fallBack() -> Bool { pen.withLock { fallBack(&$0) } }

    private func fallBack(_ pen: inout Pen) -> Bool {
        pen.isPutAway = true
        if let saved = pen.saved, file.takeNote(saved.with(done: saved.done), isDurable: true) { return true }
        file.removeNote()
        return false
    }

    /// Closes the notes: none is written after this has returned. Waits for a note that is being written, but not for a
    /// synchronization.
    func putAway() { pen.withLock { $0.isPutAway = true } }

    /// Closes the notes as ``putAway()`` does, and waits for the synchronization that is under way.
    func end() async {
        putAway()
        await saving.withLock { $0 }?.value
    }
}
