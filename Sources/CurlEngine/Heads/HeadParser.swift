import CCurl

/// The reasons why a response head is rejected.
package enum HeadFailure: Error, Hashable, Sendable {
    /// A line that is not a status line.
    case badStatusLine(String)
    /// A status that the framework has not asked for, such as 101.
    case unexpectedStatus(Int)
    /// A line that is not a field line.
    case badFieldLine(String)
    /// Values of `Content-Length` that differ (RFC 9112, section 6.3).
    case conflictingContentLength
    /// A `Content-Length` that is not a number.
    case badContentLength(String)
    /// A head that exceeds the limit in bytes.
    case tooLarge(limit: Int)
    /// The head, or the trailers, have more fields than ``WireFields/maximumCount``.
    case tooManyFields
    /// A second final head.
    case secondHead
    /// A head that ends before it is complete.
    case cutShort
}

/// A parser for the lines that libcurl delivers over HTTP/3: informational heads, the final head, and trailers. The parser is stricter than
/// libcurl, whose leniency differs between versions.
@safe
struct HeadParser: ~Copyable {
    /// The result of parsing a line: a head is complete, which ``takeHead()`` returns, or `more` if none is complete yet.
    enum Outcome { case more, informational, final }

    /// The fields, the limits and the length of the body, which C also changes: ``HTTP3Exchange`` passes plain fields to C alone.
    let head: UnsafeMutablePointer<ccurl_head>
    private var version = WireVersion.http1_1
    private var status = 0
    private var reason = ""
    /// The content codings of the body in the order in which they were applied (RFC 9110, section 8.4), without `identity`.
    private(set) var contentCodings: [String] = []
    /// Whether the head has a `Transfer-Encoding`, such as `chunked`.
    private(set) var hasTransferEncoding = false

    /// Creates a parser with a limit in bytes on all heads together, and on the trailers.
    init(limit: Int) {
        unsafe head = .allocate(capacity: 1)
        unsafe head.initialize(to: ccurl_head())
        unsafe head.pointee.limit = max(limit, 0)
        unsafe head.pointee.maximum_count = WireFields.maximumCount
        unsafe head.pointee.content_length = -1
    }

    deinit {
        unsafe ccurl_head_clear(head)
        unsafe head.deallocate()
    }

    /// The length of the body in bytes, if the head has one.
    private(set) var contentLength: Int64? {
        get { unsafe head.pointee.content_length < 0 ? nil : head.pointee.content_length }
        nonmutating set { unsafe head.pointee.content_length = newValue ?? -1 }
    }

    /// The number of bytes of all lines.
    var receivedBytes: Int { unsafe head.pointee.received }

    /// The instant at which the last field line arrived.
    var lastLine: EngineInstant { unsafe EngineInstant(nanoseconds: head.pointee.last_line) }

    /// The fields that were received after the body.
    var trailers: WireFields { hasFinalHead ? fields : WireFields() }

    /// Whether the final head is complete.
    var hasFinalHead: Bool { unsafe head.pointee.place == CCURL_HEAD_TRAILERS }

    private var fields: WireFields {
        let bytes = unsafe UnsafeRawBufferPointer(start: head.pointee.lines, count: head.pointee.length)
        return unsafe WireFields(bytes: [UInt8](bytes), count: head.pointee.count)
    }

    /// Parses the next line, including its line end.
    mutating func parse(_ raw: UnsafeRawBufferPointer) throws(HeadFailure) -> Outcome {
        guard let start = raw.baseAddress else { return .more }
        if unsafe ccurl_head_add(head, start, raw.count) { return .more }
        unsafe head.pointee.size += raw.count
        unsafe head.pointee.received += raw.count
        guard unsafe head.pointee.size <= head.pointee.limit else {
            throw .tooLarge(limit: unsafe head.pointee.limit)
        }
        if unsafe head.pointee.place == CCURL_HEAD_STATUS_LINE || raw.hasPrefix("HTTP/") {
            guard !hasFinalHead else { throw .secondHead }
            try unsafe beginHead(raw.withoutLineEnd)
            return .more
        }
        guard unsafe raw.count > 2 || raw.withoutLineEnd.count > 0 else { return endOfHead() }
        try unsafe parseField(raw)
        return .more
    }

    private mutating func beginHead(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        guard let parsed = unsafe StatusLine(line) else { throw .badStatusLine(unsafe line.excerpt) }
        (version, status, reason) = (parsed.version, parsed.status, parsed.reason)
        guard status >= 100 else { throw .unexpectedStatus(status) }
        // No request over HTTP/3 asks the server to switch protocols.
        guard status != 101 else { throw .unexpectedStatus(status) }
        unsafe ccurl_head_clear(head)
        contentLength = nil
        hasTransferEncoding = false
        contentCodings = []
        unsafe head.pointee.place = CCURL_HEAD_FIELDS
    }

    private func endOfHead() -> Outcome {
        guard unsafe head.pointee.place == CCURL_HEAD_FIELDS else { return .more }
        if status < 200, status != 101 {
            // The size is not reset here, so that an endless sequence of informational heads reaches the limit.
            unsafe head.pointee.place = CCURL_HEAD_STATUS_LINE
            return .informational
        }
        unsafe head.pointee.place = CCURL_HEAD_TRAILERS
        unsafe head.pointee.size = 0
        return .final
    }

    /// Returns the head that the last line has completed.
    func takeHead() -> WireHead {
        let fields = fields
        unsafe ccurl_head_clear(head)
        return WireHead(version: version, status: status, reason: reason, fields: fields)
    }

    /// Parses a field that describes the body, or a line that C has rejected.
    private mutating func parseField(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        guard let start = line.baseAddress else { return }
        if unsafe line[0] == UInt8(ascii: " ") || line[0] == UInt8(ascii: "\t") { return try unsafe parseFold(line) }
        var field = ccurl_field()
        guard unsafe ccurl_field_scan(start, line.count, &field) else {
            throw .badFieldLine(unsafe line.withoutLineEnd.excerpt)
        }
        guard unsafe head.pointee.count < head.pointee.maximum_count else { throw .tooManyFields }
        unsafe head.pointee.is_last_framing = false
        if !hasFinalHead {
            let name = unsafe UnsafeRawBufferPointer(rebasing: line[..<field.name_length])
            try unsafe noteFraming(name, UnsafeRawBufferPointer(rebasing: line[field.value_start..<field.value_end]))
        }
        try unsafe append(start, field.value_end)
        unsafe head.pointee.count += 1
    }

    /// Adds the continuation of the last field (RFC 9112, section 5.2).
    private func parseFold(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        let value = unsafe line.withoutLineEnd.trimmed(from: 0)
        // A fold in a field that frames the message can be interpreted in two ways by two recipients.
        guard unsafe head.pointee.place == CCURL_HEAD_FIELDS, unsafe head.pointee.count > 0,
            unsafe !head.pointee.is_last_framing, unsafe value.isFieldValue, let start = value.baseAddress
        else {
            throw .badFieldLine(unsafe line.withoutLineEnd.excerpt)
        }
        // A space takes the place of the line feed.
        unsafe head.pointee.lines?[head.pointee.length - 1] = CChar(UInt8(ascii: " "))
        try unsafe append(start, value.count)
    }

    private func append(_ start: UnsafeRawPointer, _ count: Int) throws(HeadFailure) {
        guard unsafe ccurl_head_append(head, start, count) else { throw .tooLarge(limit: unsafe head.pointee.limit) }
    }

    private mutating func noteFraming(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(HeadFailure) {
        switch name.count {
        case 14 where unsafe name.isEqualIgnoringCase("content-length"):
            unsafe head.pointee.is_last_framing = true
            contentLength = unsafe try value.contentLength(known: contentLength)
        case 16 where unsafe name.isEqualIgnoringCase("content-encoding"):
            unsafe contentCodings += String(decoding: value, as: UTF8.self).contentCodings
        case 17 where unsafe name.isEqualIgnoringCase("transfer-encoding"):
            unsafe head.pointee.is_last_framing = true
            hasTransferEncoding = true
        default: break
        }
    }
}
