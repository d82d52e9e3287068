import CurlEngine
import FoundationEssentials

/// The file of a download on its way: its place, the partial file beside it, and the note that tells later downloads what that
/// is a part of.
///
/// All of it can wait for a disk, and so runs in the download's own task, on threads for that (``DiskExecutor``).
final class DownloadFile: Sendable {
    /// Where it goes.
    let target: String
    private let options: DownloadDestination.Options
    private let partial: PartialFile
    /// Where the note is; `nil` for a partial file that no other download looks for.
    private let note: String?

    init(target: String, options: DownloadDestination.Options, partial: PartialFile, note: String?) {
        self.target = target
        self.options = options
        self.partial = partial
        self.note = note
    }

    /// Where the partial file is.
    var path: String { partial.path }

    /// Whether other downloads to the same place find it.
    var isShared: Bool { note != nil }

    var length: Int64 { partial.length }

    // MARK: Bytes

    func write(_ data: Data, at offset: Int64) throws(TrellisError) {
        try naming { () throws(FileReader.Failure) in try partial.write(data, at: offset) }
    }

    func read(at offset: Int64) throws(TrellisError) -> Data {
        try naming { () throws(FileReader.Failure) in try partial.read(atMost: 1 << 20, at: offset) }
    }

    /// Waits until what was written up to now is on the disk; `false` where the file system has no means for that.
    func synchronizeData() throws(FileReader.Failure) -> Bool { try partial.synchronizeData() }

    /// As ``synchronizeData()``, with what ``stamp`` tells.
    func synchronize() throws(FileReader.Failure) -> Bool { try partial.synchronize() }

    // MARK: Notes

    /// What the partial file is a part of, where that is known: bytes of a download of the same URL.
    func found(for url: String) -> ResumeData? {
        guard let note, let file = try? WholeFile.read(path: note, limit: 256 << 10),
            let data = try? JSONDecoder().decode(ResumeData.self, from: file.data), data.url.hasSameBytes(as: url)
        else { return nil }
        return data
    }

    /// What may be trusted of what a note lists: what was on the disk before the note, and what the kernel was given since then, if
    /// it is the same kernel and has it on the disk now.
    func trusted(_ note: ResumeData) -> ResumeData {
        guard note.stamp == nil, let pending = note.pending else { return note }
        let certain = note.with(done: note.done)
        guard pending.boot == MachineBoot.id else { return certain }
        do throws(FileReader.Failure) {
            return try synchronizeData() ? note.with(done: pending.written) : certain
        } catch {
            // The next one is not told of it any more.
            takeNote(certain, isDurable: true)
            return certain
        }
    }

    /// Notes what the partial file is a part of, whole or not at all. One thread at a time.
    ///
    /// - Parameter isDurable: The note is on the disk when this returns.
    /// - Returns: Whether it is there for a later download.
    @discardableResult
    func takeNote(_ data: ResumeData, isDurable: Bool) -> Bool {
        guard let note, let bytes = try? JSONEncoder().encode(data) else { return false }
        return (try? WholeFile.replace(path: note, with: bytes, isDurable: isDurable)) != nil
    }

    /// Whether there is a note from before that holds still: of what it has others trust, as long as the file is now, all is there.
    func hasNote(like data: ResumeData) -> Bool {
        guard let note = found(for: data.url), note.representation == data.representation else { return false }
        let length = length
        return (note.done + (note.pending?.written ?? [])).map { $0.clamped(to: 0..<length) }.allSatisfy { range in
            range.isEmpty || data.done.contains { $0.contains(range) }
        }
    }

    func removeNote() {
        guard let note else { return }
        FilePlaces.remove(note)
        // What a process left that ended while it wrote one.
        FilePlaces.remove(note + ".new")
    }

    /// The note goes, for certain, before its bytes do: it must never be about others, also after a failure of the machine.
    ///
    /// - Throws: ``TrellisError`` where it does not go.
    func forgetNote() throws(TrellisError) {
        guard let note, (try? FilePlaces.thing(at: note)) != .nothing else { return removeNote() }
        removeNote()
        try naming { () throws(FileReader.Failure) in
            guard try FilePlaces.thing(at: note) == .nothing else {
                throw FileReader.Failure(why: "its note cannot be removed")
            }
        }
        FilePlaces.synchronize(folder: FilePlaces.folder(of: note))
    }

    // MARK: What others do

    /// What the partial file is like now, for those who go on with it.
    var stamp: PartialFile.Stamp? { partial.stamp }

    /// Whether nobody has written to the partial file since then.
    func isAsLeft(by data: ResumeData) -> Bool { data.stamp != nil && data.stamp == stamp }

    /// Whether the partial file is where it was, with so many bytes at least.
    func isThere(with length: Int64) -> Bool { partial.isInPlace && self.length >= length }

    /// Throws where others have deleted the partial file or its folder, or have cut it.
    func check() throws(TrellisError) {
        try naming { () throws(FileReader.Failure) in
            try partial.check()
            if partial.isInPlace { return }
            let folder = FilePlaces.folder(of: path)
            guard try FilePlaces.thing(at: folder) == .folder else {
                throw FileReader.Failure(why: "its folder is not there any more")
            }
            throw PartialFile.isGone
        }
    }

    /// Puts a partial file that nobody looks for where no other download takes it for one that is of no use any more.
    func setAside() throws(TrellisError) {
        guard !isShared else { return }
        _ = try naming { () throws(FileReader.Failure) in
            try partial.move(elsewhere: Self.placeAside(of: target))
        }
    }

    // MARK: Ends

    /// Nothing of what is there is of use.
    func reset() throws(TrellisError) {
        try forgetNote()
        try naming { () throws(FileReader.Failure) in try partial.truncate(to: 0) }
    }

    /// What lies behind is of no use.
    func truncate(to length: Int64) throws(TrellisError) {
        guard self.length > length else { return }
        try naming { () throws(FileReader.Failure) in try partial.truncate(to: length) }
    }

    func discard() {
        // The note may be about somebody else's by now.
        guard partial.isInPlace else { return }
        removeNote()
        partial.remove()
    }

    /// Puts the file into its place.
    func finish(size: Int64) async throws(TrellisError) {
        try check()
        if length > size { try naming { () throws(FileReader.Failure) in try partial.truncate(to: size) } }
        if options.contains(.synchronize) {
            try await waiting { () throws(FileReader.Failure) in
                guard try self.partial.synchronize() else {
                    throw FileReader.Failure(why: "its file system cannot synchronize it")
                }
            }
        }
        let isMoved = try naming { () throws(FileReader.Failure) in
            try partial.move(to: target, replacing: options.contains(.removePreviousFile))
        }
        guard isMoved else { throw TrellisError(.downloadFailed(.exists(path: target))) }
        removeNote()
        if options.contains(.synchronize) {
            try await waiting { FilePlaces.synchronize(folder: FilePlaces.folder(of: self.target)) }
        }
    }

    /// Takes over the bytes of a file on another file system.
    private func copy(from path: String) async throws(TrellisError) {
        try reset()
        try await waiting { () throws(FileReader.Failure) in
            let length = try FileReader.size(path: path)
            let reader = try FileReader(path: path, length: length)
            var offset: Int64 = 0
            while offset < length {
                let chunk = try reader.read(atMost: 1 << 20, at: offset)
                try self.partial.write(chunk, at: offset)
                offset += Int64(chunk.count)
            }
            _ = try self.partial.synchronize()
            FilePlaces.remove(path)
        }
    }

    private func waiting(_ body: @escaping @Sendable () throws(FileReader.Failure) -> Void) async throws(TrellisError) {
        let result = await WaitingThread.run { () -> Result<Void, FileReader.Failure> in
            do throws(FileReader.Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        try naming { () throws(FileReader.Failure) in try result.get() }
    }

    /// The file with the bytes of a partial file that is elsewhere.
    func holding(_ other: PartialFile) async throws(TrellisError) -> DownloadFile {
        let (path, elsewhere) = (path, other.path)
        try forgetNote()
        guard try naming({ () throws(FileReader.Failure) in try other.move(elsewhere: path) }) else {
            do { try await copy(from: elsewhere) } catch {
                discard()
                throw error
            }
            return self
        }
        return DownloadFile(target: target, options: options, partial: other, note: note)
    }

    private func naming<Value>(_ body: () throws(FileReader.Failure) -> Value) throws(TrellisError) -> Value {
        try Self.naming(target, body)
    }
}
