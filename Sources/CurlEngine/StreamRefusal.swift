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

    /// Takes a line of the log.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Line {
        if let number = unsafe Self.number(in: line, after: "Using Stream ID: ") {
            // A new attempt.
            self = StreamRefusal()
            stream = number
        } else if let number = unsafe Self.number(in: line, after: ", last_stream=") {
            // A server may send more than one GOAWAY, of which each may name a lower stream.
            lastStream = min(number, lastStream ?? number)
        } else if unsafe Self.range(of: " refused by server, try again", in: line) != nil {
            isCertain = true
        } else if unsafe line.starts(with: "Connection died, retrying".utf8) {
            return .isBeingRepeated
        }
        return .other
    }

    private static func number(in line: UnsafeRawBufferPointer, after text: StaticString) -> UInt64? {
        guard let range = unsafe range(of: text, in: line) else { return nil }
        var number: UInt64?
        for index in range.upperBound..<line.count {
            let byte = unsafe line[index]
            guard byte >= 0x30, byte <= 0x39, (number ?? 0) < 1 << 32 else { break }
            number = (number ?? 0) * 10 + UInt64(byte - 0x30)
        }
        return number
    }

    private static func range(of text: StaticString, in line: UnsafeRawBufferPointer) -> Range<Int>? {
        let count = text.utf8CodeUnitCount
        let wanted = unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: count)
        guard count <= line.count else { return nil }
        for start in 0...line.count - count {
            if unsafe UnsafeRawBufferPointer(rebasing: line[start..<start + count]).elementsEqual(wanted) {
                return start..<start + count
            }
        }
        return nil
    }
}
