import CurlEngine
import FoundationEssentials

/// The writer of an entry's file. A small entry is written when it is complete, with one write; a larger one in pieces of a mebibyte.
final class CacheFileWriter: CacheWriter {
    /// The number of bytes that are written at a time.
    private static let pieceSize = 1 << 20

    private struct State {
        /// The bytes that have not been written.
        var rest = Data()
        /// The number of bytes that have been written.
        var written: Int64 = 0
        var table = Data()
        /// The temporary file; `nil` before the first piece.
        var file: RandomAccessFile?
        /// The size of the complete file; `nil` before it is complete.
        var size: Int64?
    }

    private let folder: DiskCacheFolder
    private let names: CacheFileHead
    private let maximumLength: Int64
    private let prologue: CacheFileFormat.Prologue
    private let head: Data
    private let state = Locked(State())
    /// Is called on the thread of the commit, with the complete file.
    private let onCommit: @Sendable (RandomAccessFile, CacheFileHead, Int64) throws -> Void

    init(
        _ folder: DiskCacheFolder, _ names: CacheFileHead, maximumLength: Int64,
        onCommit: @escaping @Sendable (RandomAccessFile, CacheFileHead, Int64) throws -> Void
    ) throws {
        (self.folder, self.names, self.maximumLength) = (folder, names, maximumLength)
        self.onCommit = onCommit
        head = names.encoded
        prologue = try .suitable(for: head)
    }

    deinit {
        guard let file = state.withLock({ $0.file }) else { return }
        BlockingThreadPool.begin { FileSystem.deleteIfPossible(file.path) }
    }

    func write(_ bytes: Data) async throws {
        let count = state.withLock { state in
            state.rest.append(bytes)
            return state.rest.count
        }
        let written = state.withLock { $0.written }
        guard written + Int64(count) <= maximumLength else { throw DiskCacheStorage.TooLarge() }
        guard count >= Self.pieceSize else { return }
        try await folder.run { try self.flush() }
    }

    func commit() async throws {
        try await folder.run { try self.finish() }
    }

    func discard() async {
        let file = state.withLock { state in
            defer { state.file = nil }
            return state.file
        }
        if let file { await BlockingThreadPool.run { _ = FileSystem.deleteIfPossible(file.path) } }
    }

    /// Writes the complete blocks.
    private func flush() throws {
        var (piece, written) = state.withLock { ($0.rest, $0.written) }
        let count = piece.count / CacheFileFormat.blockSize * CacheFileFormat.blockSize
        let rest = Data(piece.dropFirst(count))
        piece = piece.prefix(count)
        let table = self.table(of: piece, after: written)
        let file = try openedFile()
        try file.write(piece, at: prologue.bodyStart + written)
        state.withLock { state in
            state.rest = rest
            state.written += Int64(count)
            state.table += table
        }
    }

    private func openedFile() throws -> RandomAccessFile {
        if let file = state.withLock({ $0.file }) { return file }
        let file = try folder.makeTemporaryFile()
        state.withLock { $0.file = file }
        try file.write(start, at: 0)
        return file
    }

    private func table(of piece: Data, after written: Int64) -> Data {
        CacheFileFormat.table(
            of: piece, first: written / Int64(CacheFileFormat.blockSize), number: prologue.number)
    }

    /// The prologue and the places of the heads.
    private var start: Data { prologue.start(with: head, revision: 1) }

    private func finish() throws {
        let (file, size) = try completeFile()
        try onCommit(file, names, size)
        state.withLock { $0.file = nil }
    }

    /// Writes the end of the file, unless that was done by a commit that did not get a lock. Returns the file and its size.
    private func completeFile() throws -> (RandomAccessFile, Int64) {
        let (rest, written, known, opened, size) = state.withLock { ($0.rest, $0.written, $0.table, $0.file, $0.size) }
        if let opened, let size { return (opened, size) }
        let table = known + self.table(of: rest, after: written)
        let length = written + Int64(rest.count)
        let trailer = CacheFileFormat.Trailer(bodyLength: length, number: prologue.number, table: table)
        let end = rest + table + trailer.encoded
        let file = try opened ?? folder.makeTemporaryFile()
        state.withLock { $0.file = file }
        if opened == nil {
            try file.write(start + end, at: 0)
        } else {
            try file.write(end, at: prologue.bodyStart + written)
        }
        let complete = prologue.bodyStart + written + Int64(end.count)
        state.withLock { $0.size = complete }
        return (file, complete)
    }
}

extension CacheFileFormat.Prologue {
    /// Returns the prologue of a new file, with room for a larger head.
    static func suitable(for head: Data) throws -> CacheFileFormat.Prologue {
        let capacity = (head.count + 256 + 63) / 64 * 64
        guard capacity <= CacheFileFormat.maximumCapacity else { throw DiskCacheStorage.TooLarge() }
        return CacheFileFormat.Prologue(number: .random(in: 1...(.max)), capacity: capacity)
    }

    /// Returns everything before the body, with the head in the first place.
    func start(with head: Data, revision: UInt64) -> Data {
        var data = encoded + CacheFileFormat.place(head, revision: revision, number: number)
        data.append(Data(count: Int(bodyStart) - data.count))
        return data
    }
}
