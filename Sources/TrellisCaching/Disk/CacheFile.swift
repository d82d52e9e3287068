import CurlEngine
import FoundationEssentials
import TrellisCore

/// The file of an entry, open for reading.
struct CacheFile: Sendable {
    /// The error of a file whose bytes are not those that were written, or that another version has written.
    struct Damaged: Error {}

    /// The number of bytes that are read first: small entries are read completely.
    private static let firstReadSize: Int64 = 72 << 10

    let names: CacheFileHead
    let prologue: CacheFileFormat.Prologue
    /// The revision of the head.
    let revision: UInt64
    /// The place of the head, 0 or 1.
    let place: Int
    /// The size of the file.
    let size: Int64
    let body: any CachedBody

    var id: String { String(prologue.number, radix: 16) }

    var entry: CacheEntry { CacheEntry(id: id, head: names.head, body: body) }

    /// Opens the file of an entry; `nil` if there is none.
    ///
    /// - Throws: ``Damaged``, or `FileError`. Damage to the body of a large file is found when the body is read.
    static func opened(path: String) throws -> CacheFile? {
        guard let file = try RandomAccessFile.opened(path: path) else { return nil }
        return try CacheFile(file)
    }

    init(_ file: RandomAccessFile) throws {
        size = file.initialSize
        var first = try Self.bytes(file, 0..<min(size, Self.firstReadSize))
        guard let prologue = CacheFileFormat.Prologue(first) else { throw Damaged() }
        self.prologue = prologue
        let bodyStart = prologue.bodyStart
        guard bodyStart + Int64(CacheFileFormat.trailerSize) <= size else { throw Damaged() }
        if first.count < bodyStart { first = try Self.bytes(file, 0..<bodyStart) }
        var latest: (place: Int, revision: UInt64, head: Data)?
        for place in 0...1 {
            let start = first.startIndex + prologue.placeStart(place)
            let bytes = first[start..<start + CacheFileFormat.placeHeaderSize + prologue.capacity]
            guard let (head, revision) = CacheFileFormat.head(in: bytes, number: prologue.number) else { continue }
            if revision > latest?.revision ?? 0 { latest = (place, revision, head) }
        }
        guard let latest, let names = CacheFileHead(latest.head) else { throw Damaged() }
        (place, revision, self.names) = (latest.place, latest.revision, names)
        body = try Self.body(of: file, size: size, prologue, first)
    }

    private static func bytes(_ file: RandomAccessFile, _ range: Range<Int64>) throws -> Data {
        do throws(FileError) {
            return try file.bytes(in: range)
        } catch {
            // Another process has shortened the file.
            if error == .shrunk { throw Damaged() }
            throw error
        }
    }

    /// Returns the body.
    ///
    /// - Parameter first: The first bytes of the file.
    private static func body(
        of file: RandomAccessFile, size: Int64, _ prologue: CacheFileFormat.Prologue, _ first: Data
    ) throws -> any CachedBody {
        func part(_ range: Range<Int64>) throws -> Data {
            guard range.upperBound <= first.count else { return try bytes(file, range) }
            return first[first.startIndex + Int(range.lowerBound)..<first.startIndex + Int(range.upperBound)]
        }
        let trailerStart = size - Int64(CacheFileFormat.trailerSize)
        guard let trailer = CacheFileFormat.Trailer(try part(trailerStart..<size)), trailer.number == prologue.number,
            trailer.bodyLength <= trailerStart - prologue.bodyStart
        else { throw Damaged() }
        let end = prologue.bodyStart + trailer.bodyLength
        guard end + 8 * CacheFileFormat.blockCount(trailer.bodyLength) == trailerStart else { throw Damaged() }
        let table = try part(end..<trailerStart)
        guard Checksum64.of(table.bytes, seed: prologue.number) == trailer.checksumOfTable else { throw Damaged() }
        guard size <= first.count else {
            return CacheFileBody(
                file, start: prologue.bodyStart, length: trailer.bodyLength, number: prologue.number, table: table)
        }
        let body = try part(prologue.bodyStart..<end)
        guard CacheFileFormat.table(of: body, first: 0, number: prologue.number) == table else { throw Damaged() }
        // A copy: its indices begin at zero, and it does not keep the places of the heads.
        return MemoryBody(data: Data(body))
    }
}

/// The body of an entry that is read from its file in pieces.
private final class CacheFileBody: CachedBody {
    let length: Int64
    private let file: RandomAccessFile
    private let start: Int64
    private let number: UInt64
    private let table: Data

    init(_ file: RandomAccessFile, start: Int64, length: Int64, number: UInt64, table: Data) {
        (self.file, self.start, self.length) = (file, start, length)
        (self.number, self.table) = (number, table)
    }

    func bytes(in range: Range<Int64>) async throws -> Data {
        // All entries have this place: their files are in folders of the storage's.
        let place = FileSystem.folder(of: FileSystem.folder(of: file.path))
        return try await BlockingThreadPool.tryingUnlessCancelled(at: place) { [self] in try checkedBytes(range) }
    }

    /// Reads the blocks that have a part of the range, and compares their checksums.
    private func checkedBytes(_ range: Range<Int64>) throws -> Data {
        guard !range.isEmpty else { return Data() }
        let size = Int64(CacheFileFormat.blockSize)
        let first = range.lowerBound / size
        let from = first * size
        let to = min((range.upperBound + size - 1) / size * size, length)
        let bytes = try file.bytes(in: start + from..<start + to)
        let checksums = CacheFileFormat.table(of: bytes, first: first, number: number)
        guard table.dropFirst(Int(8 * first)).starts(with: checksums) else { throw CacheFile.Damaged() }
        if from..<to == range { return bytes }
        // The indices of a copy begin at zero, as in all other bodies, and the copy keeps no other bytes.
        return Data(bytes.dropFirst(Int(range.lowerBound - from)).prefix(range.count))
    }
}
