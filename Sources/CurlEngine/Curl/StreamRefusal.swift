/// What libcurl's log says of a stream that a server has not processed (RFC 9113, sections 6.8 and 8.7). There is no other way to
/// learn of it: to the application, libcurl says the same as of a connection that has died.
struct StreamRefusal {
    /// The server has refused the stream.
    var isCertain = false
    private var stream: UInt64?
    private var lastStream: UInt64?

    /// The server has gone away, and the stream is above the last one that it may have processed.
    var isBeyondLastStream: Bool {
        guard let stream, let lastStream else { return false }
        return stream > lastStream
    }

    /// What a line of the log is.
    enum Line {
        /// libcurl is about to give the connection up, and to send the request once more.
        case isBeingRepeated
        case other
    }

    /// Takes a line of the log. Header fields are written there too, and a caller's may say anything: what counts stands at the
    /// beginning of a line.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Line {
        if let number = unsafe line.number(after: "Using Stream ID: ") {
            // A new attempt.
            self = StreamRefusal()
            stream = number
        } else if unsafe line.hasPrefix("recveived GOAWAY, ") || line.hasPrefix("received GOAWAY, ") {
            guard let end = unsafe line.end(of: ", last_stream="), let number = unsafe line.number(at: end) else {
                return .other
            }
            // A server may send more than one GOAWAY, of which each may name a lower stream.
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
