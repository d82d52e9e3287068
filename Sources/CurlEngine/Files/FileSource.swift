import FoundationEssentials

/// The position in a file that is sent as a request's body.
///
/// Bytes in the page cache are copied straight into libcurl's buffer. The others are read on another thread first, because the
/// engine thread must not wait for a disk.
struct FileSource {
    /// Bytes of the file that are read at once.
    struct Part: Sendable {
        fileprivate let reader: FileReader
        fileprivate let offset: Int64

        var path: String { reader.path }

        /// Reads the bytes; waits for the disk.
        func read() throws(FileError) -> Data { try reader.read(atMost: partSize, at: offset) }
    }

    private let reader: FileReader
    private var offset: Int64 = 0
    /// Whether a part is being read, whose bytes are the next ones.
    private var isFetching = false
    /// Whether all bytes are read in parts, because the file system does not report which ones are in memory.
    private(set) var isFetchedWhole: Bool

    /// The length of a part in bytes.
    private static let partSize = 256 << 10

    init(_ reader: FileReader, isFetchedWhole: Bool) {
        self.reader = reader
        self.isFetchedWhole = isFetchedWhole
    }

    var isAtEnd: Bool { offset >= reader.length }

    /// Fills `buffer` with bytes that are in memory; returns their number. After 0, the next bytes have to be read as a part.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        // The bytes of the part that is being read are sent first.
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

    /// Returns the next part to read; `nil` if one is being read, or at the end.
    mutating func beginFetch() -> Part? {
        guard !isFetching, !isAtEnd else { return nil }
        isFetching = true
        return Part(reader: reader, offset: offset)
    }

    /// Ends the read of a part, with the number of its bytes.
    mutating func endFetch(_ count: Int) {
        isFetching = false
        offset += Int64(count)
    }
}
