import CurlEngine
import FoundationEssentials

/// The notes on a partial file, as it grows. What a note lists is never ahead of the disk: the file is synchronized first, then the
/// note is written, synchronized and renamed.
///
/// The download does not wait for that: its end comes as soon as the file has its name, and nothing is noted from then on.
final class DownloadNotes: Sendable {
    private struct Pen: Sendable {
        /// Nothing is noted any more.
        var isPutAway = false
        /// The last note that lists what is on the disk.
        var saved: ResumeData?
        /// Why the disk did not take what was written: some of that is lost, and nobody can tell what.
        var failure: FileReader.Failure?
    }

    private let file: DownloadFile
    /// Held by whoever writes a note.
    private let pen = Locked(Pen())
    private let saving = Locked<Task<Void, Never>?>(nil)

    init(_ file: DownloadFile) { self.file = file }

    /// A note is there that lists what is on the disk.
    var hasSaved: Bool { pen.withLock { $0.saved != nil } }

    /// The disk did not take what was written.
    var hasFailed: Bool { pen.withLock { $0.failure != nil } }

    /// Throws where the disk did not take what was written.
    func check() throws(TrellisError) {
        if let failure = pen.withLock({ $0.failure }) { throw .download(file.target, failure) }
    }

    /// Notes what the file is a part of, before anything is written to it. Where something is there already, it is on the disk when
    /// this returns, and the note too.
    ///
    /// - Returns: Whether the note is there; otherwise there may be one from before.
    @discardableResult
    func begin(_ data: ResumeData) -> Bool { data.done.isEmpty ? jot(data) : write(data) }

    /// Notes what the kernel has been given, without a word about the disk. Nothing happens where the note that is there says more.
    ///
    /// - Returns: Whether the note is there.
    @discardableResult
    func jot(_ data: ResumeData) -> Bool {
        pen.withLock { pen in
            guard !pen.isPutAway, pen.saved == nil else { return false }
            return file.takeNote(data, isDurable: false)
        }
    }

    /// Notes what was written before the call, as soon as it is on the disk. Returns at once; nothing happens where the disk is still
    /// busy with the last note.
    func save(_ data: ResumeData) {
        saving.withLock { saving in
            guard saving == nil else { return }
            saving = Task(executorPreference: DiskExecutor.shared) { [self] in
                _ = write(data)
                self.saving.withLock { $0 = nil }
            }
        }
    }

    /// - Returns: Whether the note is there.
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

    private func fail(_ failure: FileReader.Failure) {
        pen.withLock { pen in
            pen.failure = failure
            if !pen.isPutAway { _ = fallBack(&pen) }
        }
    }

    /// The disk did not take what was written. From now on only what was on it before is trusted, whatever the kernel says: it tells of
    /// such a failure once, and then has forgotten what it could not write.
    ///
    /// - Returns: Whether a note is left.
    func fallBack() -> Bool { pen.withLock { fallBack(&$0) } }

    private func fallBack(_ pen: inout Pen) -> Bool {
        pen.isPutAway = true
        if let saved = pen.saved, file.takeNote(saved.with(done: saved.done), isDurable: true) { return true }
        file.removeNote()
        return false
    }

    /// Nothing is noted after this has returned. A note that is being written is waited for, a disk that is being synchronized is not.
    func putAway() { pen.withLock { $0.isPutAway = true } }

    /// As ``putAway()``, and the disk has done what it was asked to.
    func end() async {
        putAway()
        await saving.withLock { $0 }?.value
    }
}
