import FoundationEssentials

/// How far a file is on its way to libcurl.
///
/// What the page cache holds goes straight into libcurl's buffer. The rest is fetched elsewhere first, because the engine
/// thread must not wait for a disk.
struct FileSource {
    /// Bytes of the file that are fetched at once.
    struct Part: Sendable {
        fileprivate let reader: FileReader
        fileprivate let offset: Int64

        var path: String { reader.path }

        /// Reads it; waits for the disk.
        func read() throws(FileReader.Failure) -> Data { try reader.read(atMost: partSize, at: offset) }
    }

    private let reader: FileReader
    private var offset: Int64 = 0
    private var isFetching = false
    /// The file system cannot tell what is in memory.
    private(set) var isFetchedWhole: Bool

    /// Bytes in a part.
    private static let partSize = 256 << 10

    init(_ reader: FileReader, isFetchedWhole: Bool) {
        self.reader = reader
        self.isFetchedWhole = isFetchedWhole
    }

    var isAtEnd: Bool { offset >= reader.length }

    /// Fills `buffer` with what is in memory; returns how many bytes. None: they have to be fetched.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        // What is being fetched comes first.
        guard !isFetching, !isFetchedWhole else { return 0 }
        switch unsafe reader.readCached(into: buffer, at: offset) {
        case .bytes(let count):
            offset += Int64(count)
            return count
        case .none: return 0
        case .unknown:
            isFetchedWhole = true
            return 0
        }
    }

    /// The next part, unless one is being fetched.
    mutating func beginFetch() -> Part? {
        guard !isFetching, !isAtEnd else { return nil }
        isFetching = true
        return Part(reader: reader, offset: offset)
    }

    mutating func endFetch(_ count: Int) {
        isFetching = false
        offset += Int64(count)
    }
}
