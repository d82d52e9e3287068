import HTTPTypes
import NIOCore

/// The search for the end of a head, which continues where it has stopped when more bytes arrive.
struct HeadScanner {
    /// The number of bytes that were searched.
    private var searched = 0
    /// The number of bytes before the present line.
    private var start = 0

    /// Returns the number of bytes of the head, including its empty line; `nil` if more bytes are needed.
    ///
    /// - Throws: The refusal of a head that is too large, or whose lines do not end with CRLF.
    mutating func end(of buffer: ByteBuffer) throws(Refusal) -> Int? {
        let bytes = buffer.readableBytesView
        while let end = bytes.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
            let length = end - bytes.startIndex
            guard length <= RequestHead.maximumSize else { throw Self.tooLarge }
            guard length > start, bytes[end - 1] == UInt8(ascii: "\r") else {
                throw .malformed("a line of the head does not end with CRLF")
            }
            let isEmpty = length == start + 1
            (searched, start) = (length + 1, length + 1)
            if isEmpty { return start }
        }
        searched = bytes.count
        guard searched <= RequestHead.maximumSize else { throw Self.tooLarge }
        return nil
    }

    private static let tooLarge = Refusal(.requestHeaderFieldsTooLarge, "the head is too large")
}
