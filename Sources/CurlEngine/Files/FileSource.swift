import FoundationEssentials

/// The position in a file that is sent as a request's body.
///
/// Over HTTP/1.1 without TLS, the system sends large parts without a copy, on a thread that may wait for a disk. Otherwise, bytes in the
/// page cache are copied straight into the buffer, and the others are read on such a thread first.
struct FileSource {
    /// Bytes of the file that are read or sent at once.
    struct Part: Sendable {
        fileprivate let reader: FileReader
        fileprivate let offset: Int64

        var path: String { reader.path }

        let count: Int

        /// Reads the bytes; waits for the disk.
        func read() throws(FileError) -> Data { try reader.read(atMost: count, at: offset) }

        /// Sends the bytes on a socket; waits for the disk, and not for the socket.
        func send(on socket: Int32) -> (count: Int, FileReader.Sending) {
            reader.send(offset..<offset + Int64(count), on: socket)
        }
    }

    private let reader: FileReader
    private var offset: Int64 = 0
    /// Whether a part is being read or sent, whose bytes are the next ones.
    private(set) var isFetching = false
    /// Whether all bytes are read in parts, because the file system does not report which ones are in memory.
    private(set) var isFetchedWhole: Bool

    /// Whether bytes are copied, because the file system cannot send them.
    private var isCopied = false

    /// The length of a part in bytes.
    private static let partSize = 256 << 10
    /// The largest number of bytes that the system sends at once. Between two such parts, limits and pauses take effect.
    private static let largestSent = 4 << 20

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
        return Part(reader: reader, offset: offset, count: Self.partSize)
    }

    /// Returns the next part for the system to send; `nil` if one is being read or sent, or if it has few bytes, which cost less to copy.
    ///
    /// - Parameter limit: The largest number of bytes of the part.
    mutating func beginSending(atMost limit: Int) -> Part? {
        let count = min(limit, Self.largestSent, Int(clamping: reader.length - offset))
        guard !isFetching, !isCopied, count >= Self.partSize else { return nil }
        isFetching = true
        return Part(reader: reader, offset: offset, count: count)
    }

    /// Ends the sending of a part, with the number of its bytes that were sent.
    mutating func endSending(_ count: Int, isSupported: Bool) {
        endFetch(count)
        if !isSupported { isCopied = true }
    }

    /// Ends the read of a part, with the number of its bytes.
    mutating func endFetch(_ count: Int) {
        isFetching = false
        offset += Int64(count)
    }
}
