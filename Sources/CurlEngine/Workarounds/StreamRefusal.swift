// Needed by libcurl of every version so far.

/// The state of a stream that a server has not processed (RFC 9113, sections 6.8 and 8.7), according to libcurl's log. The log is the only
/// source, because libcurl reports a refused stream to the application in the same way as a dead connection.
struct StreamRefusal {
    /// Whether the server has refused the stream.
    var isCertain = false
    /// The identifier of the stream.
    private var stream: UInt64?
    /// The lowest stream identifier that a GOAWAY named as the last one.
    private var lastStream: UInt64?

    /// Whether the server has sent GOAWAY and the stream is above the last one that the server may have processed.
    var isBeyondLastStream: Bool {
        guard let stream, let lastStream else { return false }
        return stream > lastStream
    }

    /// The meaning of a line of the log.
    enum Line {
        /// The connection is about to be given up by libcurl, in order to send the request again.
        case isBeingRepeated
        case other
    }

    /// Reads a line of the log. libcurl also writes header fields to the log, and the fields of a caller may have any content; therefore
    /// only the text at the beginning of a line counts.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Line {
        if let number = unsafe line.number(after: "Using Stream ID: ") {
            // The line begins a new attempt.
            self = StreamRefusal()
            stream = number
        } else if unsafe line.hasPrefix("recveived GOAWAY, ") || line.hasPrefix("received GOAWAY, ") {
            // libcurl 7.88 misspells the word.
            guard let end = unsafe line.end(of: ", last_stream="), let number = unsafe line.number(at: end) else {
                return .other
            }
            // A server may send more than one GOAWAY, each of which may name a lower stream.
            lastStream = min(number.value, lastStream ?? number.value)
        } else if unsafe line.hasPrefix("HTTP/2 stream ") || line.hasPrefix("HTTP/3 stream ") {
            guard let number = unsafe line.number(at: 14) else { return .other }
            if unsafe line.from(number.end).hasPrefix(" refused by server, try again") { isCertain = true }
        } else if unsafe line.hasPrefix("Connection died, retrying") {
            return .isBeingRepeated
        }
        return .other
    }
}
