import CurlEngine
import FoundationEssentials

/// The file of a download on its way: its place, the partial file beside it, and the note that tells later downloads what that
/// is a part of.
///
/// All of it can wait for a disk, and so runs in the download's own task on the pool. What may take long runs on a thread of its
/// own.
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

    // MARK: Notes

    /// What the partial file is a part of, where that is known: bytes of a download of the same URL.
    func found(for url: String) -> ResumeData? {
        guard let note, let file = try? WholeFile.read(path: note, limit: 256 << 10),
            let data = try? JSONDecoder().decode(ResumeData.self, from: file.data), data.url == url
        else { return nil }
        return data
    }

    /// Notes what the partial file is a part of. A note that cannot be written is one that nobody finds.
    func takeNote(_ data: ResumeData) {
        guard let note, let bytes = try? JSONEncoder().encode(data) else { return }
        do { try FilePlaces.write(bytes, to: note) } catch { FilePlaces.remove(note) }
    }

    // MARK: Ends

    /// Nothing of what is there is of use. The note goes first: it must never be about other bytes.
    func reset() throws(TrellisError) {
        if let note { FilePlaces.remove(note) }
        try naming { () throws(FileReader.Failure) in try partial.truncate(to: 0) }
    }

    /// What lies behind is of no use.
    func truncate(to length: Int64) throws(TrellisError) {
        guard self.length > length else { return }
        try naming { () throws(FileReader.Failure) in try partial.truncate(to: length) }
    }

    func discard() {
        if let note { FilePlaces.remove(note) }
        partial.remove()
    }

    /// Puts the file into its place.
    func finish(size: Int64) async throws(TrellisError) {
        if length > size { try naming { () throws(FileReader.Failure) in try partial.truncate(to: size) } }
        if options.contains(.synchronize) {
            try await waiting { () throws(FileReader.Failure) in try self.partial.synchronize() }
        }
        let isMoved = try naming { () throws(FileReader.Failure) in
            try partial.move(to: target, replacing: options.contains(.removePreviousFile))
        }
        guard isMoved else { throw TrellisError(.downloadFailed(.exists(path: target))) }
        if let note { FilePlaces.remove(note) }
        if options.contains(.synchronize) {
            try await waiting { FilePlaces.synchronize(folder: FilePlaces.folder(of: self.target)) }
        }
    }

    /// Takes over the bytes of a file on another file system.
    func copy(from path: String) async throws(TrellisError) {
        try await waiting { () throws(FileReader.Failure) in
            let length = try FileReader.size(path: path)
            let reader = try FileReader(path: path, length: length)
            var offset: Int64 = 0
            while offset < length {
                let chunk = try reader.read(atMost: 1 << 20, at: offset)
                try self.partial.write(chunk, at: offset)
                offset += Int64(chunk.count)
            }
            FilePlaces.remove(path)
        }
    }

    private func waiting(_ body: @escaping @Sendable () throws(FileReader.Failure) -> Void) async throws(TrellisError) {
        let result = await WaitingThread.run { () -> Result<Void, FileReader.Failure> in
            do throws(FileReader.Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        try naming { () throws(FileReader.Failure) in try result.get() }
    }

    /// The file that is at its path by now.
    func reopened() throws(TrellisError) -> DownloadFile {
        try naming { () throws(FileReader.Failure) in
            guard let partial = try PartialFile.opened(path: path) else {
                throw FileReader.Failure(why: "another download writes to \(path)")
            }
            return DownloadFile(target: target, options: options, partial: partial, note: note)
        }
    }

    private func naming<Value>(_ body: () throws(FileReader.Failure) -> Value) throws(TrellisError) -> Value {
        try Self.naming(target, body)
    }
}
