import CCurl
private import Glibc

/// Reads status lines and field lines from bytes that come in pieces of any size, or line by line (RFC 9112, sections 4 and 5).
///
/// A line may end with a line feed alone. The beginning of a line that is cut is kept until its end arrives.
struct HeadReader: Sendable {
    private let limit: Int
    private var scan = ccurl_fields()
    /// The lines of the fields that were read.
    private var lines: [UInt8] = []
    /// The beginning of a line.
    private var partial: [UInt8] = []
    /// The number of bytes of all heads, and of the trailer fields.
    private(set) var receivedBytes = 0

    /// Creates a reader with a limit in bytes on all heads together, and on the trailers.
    init(limit: Int) {
        self.limit = max(limit, 0)
        scan.limit = self.limit
        scan.maximum_count = WireFields.maximumCount
        scan.content_length = -1
    }

    /// Whether a byte of the first line has arrived.
    var hasStarted: Bool { receivedBytes > 0 || !partial.isEmpty }
    /// The length of the body, if the head has one.
    var contentLength: Int64? { scan.content_length < 0 ? nil : scan.content_length }

    /// The fields that were read since the last head.
    var fields: WireFields { WireFields(bytes: lines, count: scan.count) }

    /// Returns whether something was noted about the fields of the head.
    func has(_ note: Int32) -> Bool { Int32(bitPattern: scan.notes) & note != 0 }

    // MARK: Parts of a message

    /// Reads a status line; `nil` if its end has not arrived.
    mutating func readStatusLine(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HeadFailure) -> StatusLine? {
        guard let end = unsafe bytes.lineEnd(from: position) else {
            unsafe try keep(bytes, &position)
            return nil
        }
        let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end
        if partial.isEmpty { return unsafe try statusLine(line) }
        unsafe partial.append(contentsOf: line)
        let whole = partial
        partial = []
        return unsafe try whole.span.withUnsafeBytes { line throws(HeadFailure) in unsafe try statusLine(line) }
    }

    private mutating func statusLine(_ line: UnsafeRawBufferPointer) throws(HeadFailure) -> StatusLine {
        try take(line.count)
        // What was noted belongs to an informational head.
        (scan.notes, scan.content_length, scan.is_last_framing, scan.count) = (0, -1, false, 0)
        let text = unsafe line.withoutLineEnd
        guard let status = unsafe StatusLine(text) else { throw .badStatusLine(unsafe text.excerpt) }
        return status
    }

    /// Begins the trailers, which have a separate limit.
    mutating func beginTrailers() { (scan.limit, scan.count, scan.is_trailers) = (limit, 0, true) }

    /// Reads fields up to the empty line after them; `nil` if that has not arrived.
    mutating func readFields(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HeadFailure) -> WireFields? {
        if !partial.isEmpty {
            guard let end = unsafe bytes.lineEnd(from: position) else {
                unsafe try keep(bytes, &position)
                return nil
            }
            unsafe partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
            position = end
            let line = partial
            partial = []
            var start = 0
            let fields = unsafe try line.span.withUnsafeBytes { line throws(HeadFailure) in
                unsafe try readFields(line, &start)
            }
            if let fields { return fields }
        }
        while true {
            switch unsafe scanFields(bytes, &position) {
            case CCURL_FIELDS_END:
                // The empty line after trailers ends the body, whose framing is not counted.
                if scan.is_trailers {
                    let hasReturn = unsafe position > 1 && bytes[position - 2] == UInt8(ascii: "\r")
                    receivedBytes -= hasReturn ? 2 : 1
                }
                defer { lines = [] }
                return fields
            case CCURL_FIELDS_FULL: continue
            case CCURL_FIELDS_OTHER:
                guard let end = unsafe bytes.lineEnd(from: position) else { break }
                let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<end])
                position = end
                unsafe try readUnusual(line)
                continue
            default: break
            }
            unsafe try keep(bytes, &position)
            return nil
        }
    }

    /// The failure of a status line whose end does not arrive. Its beginning may be another protocol's.
    var cutStatusLine: HeadFailure {
        if "HTTP/".utf8.starts(with: partial.prefix(5)) { return .cutShort }
        return unsafe .badStatusLine(partial.span.withUnsafeBytes { unsafe $0.excerpt })
    }

    // MARK: Lines

    /// Keeps the beginning of a line until its end arrives.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) throws(HeadFailure) {
        guard position < bytes.count else { return }
        guard partial.count + bytes.count - position <= scan.limit else { throw .tooLarge(limit: limit) }
        unsafe partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[position...]))
        position = bytes.count
    }

    /// Takes a line off the limit.
    private mutating func take(_ length: Int) throws(HeadFailure) {
        guard length <= scan.limit else { throw .tooLarge(limit: limit) }
        scan.limit -= length
        receivedBytes += length
    }

    /// The size of the memory on the stack to which plain lines are copied first, so that the fields of a small head are one block.
    private static let scratchSize = 1 << 10

    /// Reads plain field lines. Returns the reason why it has stopped: one of `CCURL_FIELDS_…`.
    private mutating func scanFields(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Int32 {
        let result = unsafe scanFields(bytes, &position, room: Self.scratchSize)
        guard result == CCURL_FIELDS_FULL, scan.written == 0, let end = unsafe bytes.lineEnd(from: position) else {
            return result
        }
        // A line that is longer than the memory.
        let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        var start = 0
        let longer = unsafe scanFields(line, &start, room: line.count)
        position += start
        return longer == CCURL_FIELDS_OTHER ? longer : CCURL_FIELDS_FULL
    }

    @inline(__always)
    private mutating func scanFields(_ bytes: UnsafeRawBufferPointer, _ position: inout Int, room: Int) -> Int32 {
        guard let start = bytes.baseAddress else { return CCURL_FIELDS_CUT }
        (scan.read, scan.written) = (position, 0)
        let result = unsafe withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) { room in
            guard let first = room.baseAddress else { return CCURL_FIELDS_CUT }
            let result = unsafe ccurl_fields_read(&scan, start, bytes.count, first, room.count)
            let written = unsafe UnsafeRawBufferPointer(rebasing: room[..<scan.written])
            if lines.isEmpty { unsafe lines = [UInt8](written) } else { unsafe lines.append(contentsOf: written) }
            return result
        }
        receivedBytes += scan.read - position
        position = scan.read
        return result
    }

    /// Reads a line that is no plain field: a fold, a length that needs a closer look, or a malformed line.
    private mutating func readUnusual(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        try take(line.count)
        if unsafe line[0] == UInt8(ascii: " ") || line[0] == UInt8(ascii: "\t") { return unsafe try readFold(line) }
        guard unsafe !scan.is_trailers || !line.hasPrefix("HTTP/") else { throw .secondHead }
        var field = ccurl_field()
        guard let start = line.baseAddress, unsafe ccurl_field_scan(start, line.count, &field) else {
            throw .badFieldLine(unsafe line.withoutLineEnd.excerpt)
        }
        guard scan.count < scan.maximum_count else { throw .tooManyFields }
        let value = unsafe UnsafeRawBufferPointer(rebasing: line[field.value_start..<field.value_end])
        scan.content_length = unsafe try value.contentLength(known: contentLength)
        scan.is_last_framing = true
        unsafe lines.append(contentsOf: line[..<field.value_end])
        lines.append(UInt8(ascii: "\n"))
        scan.count += 1
    }

    /// Adds the continuation of the last field (RFC 9112, section 5.2).
    private mutating func readFold(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        let value = unsafe line.withoutLineEnd.trimmed(from: 0)
        // A fold in a field that frames the message can be interpreted in two ways by two recipients.
        guard !scan.is_trailers, !scan.is_last_framing, unsafe value.isFieldValue, let last = lines.indices.last else {
            throw .badFieldLine(unsafe line.withoutLineEnd.excerpt)
        }
        // A space takes the place of the line feed.
        lines[last] = UInt8(ascii: " ")
        unsafe lines.append(contentsOf: value)
        lines.append(UInt8(ascii: "\n"))
        // The field may be a Connection.
        if let start = value.baseAddress, unsafe ccurl_has_close(start, value.count) {
            scan.notes |= UInt32(CCURL_NOTE_CLOSE)
        }
    }
}
