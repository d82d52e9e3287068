// Needed by libcurl before 8.1.

/// The state of an HTTP/2 connection that libcurl before 8.1 reports only in its log.
///
/// If the server violates the protocol, these versions end the connection and report the response as complete, because they cannot
/// distinguish the end of the stream from the end of the connection. A connection that they close without a GOAWAY from the server was
/// broken. After a GOAWAY, the log is the same for a response that has ended (END_STREAM), after which no work is left, and for a response
/// in which the server violated the protocol. However, libcurl replies to a violation with its own GOAWAY before it closes the connection.
struct ConnectionLog: Hashable {
    /// The meaning of a line of the log.
    enum Line {
        case goAway
        /// The connection is about to be closed by libcurl, after all of its data was sent.
        case isClosing
        case other
    }

    /// The error code of the last received GOAWAY (RFC 9113, section 6.8).
    private var goAwayCode: UInt64?
    /// The number of bytes that were sent before the server's last frames were read.
    private var writtenBefore: Int64?
    /// The number of bytes that were sent before the connection was closed.
    private var writtenAtEnd: Int64?
    /// Whether the connection is kept after the transfer, or was closed to make room for others.
    private(set) var isKept = false
    /// Whether libcurl has logged nothing, because it was built without log texts.
    private(set) var isEmpty = true

    /// Whether a GOAWAY was received.
    var hasGoAway: Bool { goAwayCode != nil }

    /// Whether the end of the connection violated the protocol. The value is known when the transfer has ended.
    var isBroken: Bool {
        guard !isEmpty, !isKept else { return false }
        guard let goAwayCode else { return true }
        guard let writtenBefore, let writtenAtEnd else { return goAwayCode != 0 }
        return writtenBefore != writtenAtEnd
    }

    /// Reads a line of the log.
    mutating func note(_ line: UnsafeRawBufferPointer) -> Line {
        isEmpty = false
        // libcurl 7.88 misspells the word.
        if let code = unsafe line.number(after: "recveived GOAWAY, error=")
            ?? line.number(after: "received GOAWAY, error=")
        {
            goAwayCode = code
            return .goAway
        } else if unsafe line.hasPrefix("Closing connection") {
            return .isClosing
        } else if unsafe line.hasPrefix("Connection cache is full") {
            isKept = true
        } else if unsafe line.hasPrefix("Connection #") {
            // The line ends in "… left intact", but these words are cut off after the name of a long host.
            isKept = unsafe isKept || line.end(of: " to host ") != nil
        }
        return .other
    }

    /// Records the number of bytes that were sent over the connection so far, before more of the server's frames are read; `nil` if the
    /// number is not known.
    mutating func goOn(written: Int64?) { writtenBefore = written }

    /// Records the number of bytes that were sent before the connection is closed; `nil` if the number is not known.
    mutating func close(written: Int64?) { writtenAtEnd = written }
}

/// Methods that read a line of libcurl's log.
extension UnsafeRawBufferPointer {
    /// Returns the number after `text`, if the line begins with `text`.
    func number(after text: StaticString) -> UInt64? {
        unsafe hasPrefix(text) ? number(at: text.utf8CodeUnitCount)?.value : nil
    }

    /// Returns the decimal number at an offset, and the offset after that number.
    func number(at offset: Int) -> (value: UInt64, end: Int)? {
        var (value, end) = (UInt64(0), offset)
        while end < count, value < .max / 10, unsafe self[end] >= 0x30 && self[end] <= 0x39 {
            value = unsafe value * 10 + UInt64(self[end] - 0x30)
            end += 1
        }
        return end > offset ? (value, end) : nil
    }

    /// Returns the offset after the first occurrence of a text.
    func end(of text: StaticString) -> Int? {
        let length = text.utf8CodeUnitCount
        guard length <= count else { return nil }
        for start in 0...count - length where unsafe from(start).hasPrefix(text) { return start + length }
        return nil
    }

    /// Returns the rest of the line after an offset.
    func from(_ offset: Int) -> UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: self[offset...]) }
}
