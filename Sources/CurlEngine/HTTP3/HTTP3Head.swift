import CCurl

/// The lines of a response that libcurl delivers over HTTP/3: informational heads, the final head, and trailers. They are read more
/// strictly than libcurl does, whose leniency differs between versions.
struct HTTP3Head: Sendable {
    private var reader: HeadReader
    private var status: StatusLine?
    /// Whether the final head is complete.
    private(set) var isFinal = false

    /// Creates a reader with a limit in bytes on all heads together, and on the trailers.
    init(limit: Int) { reader = HeadReader(limit: limit) }

    /// The number of bytes of all lines.
    var receivedBytes: Int { reader.receivedBytes }
    /// The length of the body in bytes, if the head has one.
    var contentLength: Int64? { reader.contentLength }
    /// Whether the body has a content coding (RFC 9110, section 8.4).
    var hasContentCoding: Bool { reader.has(CCURL_NOTE_CONTENT_CODING) }
    /// The fields that were received after the body. No line ends them.
    var trailers: WireFields { isFinal ? reader.fields : WireFields() }

    /// Reads the next line, including its line end. Returns the head that the line completes, if any.
    mutating func read(_ line: UnsafeRawBufferPointer) throws(HeadFailure) -> WireHead? {
        var position = 0
        guard let status else {
            if !isFinal, let line = unsafe try reader.readStatusLine(line, &position) {
                // No request over HTTP/3 asks the server to switch protocols.
                guard line.status >= 100, line.status != 101 else { throw .unexpectedStatus(line.status) }
                status = line
            } else if isFinal, unsafe !line.withoutLineEnd.isEmpty {
                _ = unsafe try reader.readFields(line, &position)
            }
            return nil
        }
        guard let fields = unsafe try reader.readFields(line, &position) else { return nil }
        self.status = nil
        if status.status >= 200 {
            isFinal = true
            reader.beginTrailers()
        }
        return WireHead(version: status.version, status: status.status, reason: status.reason, fields: fields)
    }
}
