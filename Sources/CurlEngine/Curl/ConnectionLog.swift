/// What libcurl before 8.1 tells of an HTTP/2 connection only in its log.
///
/// Where the server breaks the protocol, these versions end the connection and call the answer whole: the stream's end and the
/// connection's look alike to them. A connection that they close although the server did not take leave (GOAWAY) was broken.
/// Where it did, the log is the same for an answer that has ended (END_STREAM), after which nothing is left to do, and for one
/// in which the server broke the protocol. But to that libcurl replies with a GOAWAY of its own before it closes the connection.
struct ConnectionLog: Hashable {
    /// What a line of the log is.
    enum Line {
        case goAway
        /// libcurl is about to close the connection, and has sent all that it had to.
        case isClosing
        case other
    }

    /// The code of the last GOAWAY that has come (RFC 9113, section 6.8).
    private var goAwayCode: UInt64?
    /// The bytes that were sent before the server's last frames were read, and before the connection was closed.
    private var writtenBefore: Int64?
    private var writtenAtEnd: Int64?
    /// The connection is kept after the transfer, or had to make room for others.
    private(set) var isKept = false
    /// libcurl says nothing: it was built without words.
    private(set) var isEmpty = true

    var hasGoAway: Bool { goAwayCode != nil }

    /// The connection has ended, and not in the order of the protocol. Known when the transfer has ended.
    var isBroken: Bool {
        guard !isEmpty, !isKept else { return false }
        guard let goAwayCode else { return true }
        guard let writtenBefore, let writtenAtEnd else { return goAwayCode != 0 }
        return writtenBefore != writtenAtEnd
    }

    /// Takes a line of the log.
    mutating func note(_ line: UnsafeRawBufferPointer) -> Line {
        isEmpty = false
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
            // "… left intact", of which the name of a long host leaves nothing.
            isKept = unsafe isKept || line.end(of: " to host ") != nil
        }
        return .other
    }

    /// Takes the number of bytes that have been sent over the connection so far, before more of the server's frames are read; `nil`
    /// where it is not known.
    mutating func goOn(written: Int64?) { writtenBefore = written }

    /// Takes that number before the connection is closed.
    mutating func close(written: Int64?) { writtenAtEnd = written }
}
