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

/// A parser for the lines that libcurl delivers: informational heads, the final head, and trailers. The parser is stricter than libcurl,
/// whose leniency differs between versions.
struct HeadParser: ~Copyable {
    /// The result of parsing a line: a head is complete, which ``takeHead()`` returns, or `more` if none is complete yet.
    enum Outcome { case more, informational, final }

    /// The part of the response to which the next line belongs.
    private enum Place { case statusLine, fields, trailers }

    private var place = Place.statusLine
    private var version = WireVersion.http1_1
    private var status = 0
    private var reason = ""
    /// The lines of the fields of the head, or of the trailers after the final head.
    private var lines = FieldLines()
    /// The number of bytes that count towards the limit.
    private var size = 0
    /// The number of bytes of all lines.
    private(set) var receivedBytes = 0
    /// Indicates whether the last field frames the message.
    private var isLastFraming = false
    /// The limit in bytes on all heads together, and on the trailers.
    private let limit: Int
    /// The length of the body in bytes, if the head has one.
    private(set) var contentLength: Int64?
    /// The content codings of the body in the order in which they were applied (RFC 9110, section 8.4), without `identity`.
    private(set) var contentCodings: [String] = []
    /// Indicates whether the body is coded, so that its length is not that of the delivered bytes.
    var hasContentEncoding: Bool { !contentCodings.isEmpty }
    /// Indicates whether the head has a `Transfer-Encoding`, such as that of a chunked body.
    private(set) var hasTransferEncoding = false

    init(limit: Int) { self.limit = limit }

    /// Indicates whether the response was received over HTTP/2.
    var isHTTP2: Bool { version == .http2 }

    /// Indicates whether the response was received over HTTP/1.
    var isHTTP1: Bool {
        switch version {
        case .http1_0, .http1_1: true
        case .http2, .http3: false
        }
    }

    /// The fields that were received after the body.
    var trailers: WireFields { hasFinalHead ? lines.fields : WireFields() }

    /// Indicates whether the final head is complete.
    var hasFinalHead: Bool { place == .trailers }

    /// Parses the next line, including its line end.
    mutating func parse(_ raw: UnsafeRawBufferPointer) throws(HeadFailure) -> Outcome {
        size += raw.count
        receivedBytes += raw.count
        guard size <= limit else { throw .tooLarge(limit: limit) }
        if unsafe place == .statusLine || raw.hasPrefix("HTTP/") {
            guard place != .trailers else { throw .secondHead }
            try unsafe beginHead(raw.withoutLineEnd)
            return .more
        }
        guard unsafe raw.count > 2 || raw.withoutLineEnd.count > 0 else { return try endOfHead() }
        try unsafe parseField(raw)
        return .more
    }

    private mutating func beginHead(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        guard let parsed = unsafe StatusLine(line) else { throw .badStatusLine(unsafe line.excerpt) }
        (version, status, reason) = (parsed.version, parsed.status, parsed.reason)
        guard status >= 100 else { throw .unexpectedStatus(status) }
        // The framework never asks for an upgrade. After an upgrade, the bytes would not be HTTP (RFC 9110, section 15.2.2).
        guard status != 101 else { throw .unexpectedStatus(status) }
        lines.removeAll()
        contentLength = nil
        hasTransferEncoding = false
        contentCodings = []
        place = .fields
    }

    private mutating func endOfHead() throws(HeadFailure) -> Outcome {
        guard place == .fields else { return .more }
        if status < 200 {
            // `size` is not reset here, so that an endless sequence of informational heads reaches the limit.
            place = .statusLine
            return .informational
        }
        place = .trailers
        size = 0
        return .final
    }

    /// Returns the head that the last line has completed.
    mutating func takeHead() -> WireHead {
        let fields = lines.fields
        lines.removeAll()
        return WireHead(version: version, status: status, reason: reason, fields: fields)
    }

    private mutating func parseField(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        guard let start = line.baseAddress else { return }
        if unsafe line[0] == UInt8(ascii: " ") || line[0] == UInt8(ascii: "\t") { return try unsafe parseFold(line) }
        var field = ccurl_field()
        guard unsafe ccurl_field_scan(start, line.count, &field) else {
            throw .badFieldLine(unsafe line.withoutLineEnd.excerpt)
        }
        guard lines.count < WireFields.maximumCount else { throw .tooManyFields }
        guard place != .trailers else { return unsafe lines.append(line, field) }
        isLastFraming = false
        // Only fields whose names have these lengths describe the body.
        if field.name_length == 14 || field.name_length == 16 || field.name_length == 17 {
            let name = unsafe UnsafeRawBufferPointer(rebasing: line[..<field.name_length])
            try unsafe noteFraming(name, UnsafeRawBufferPointer(rebasing: line[field.value_start..<field.value_end]))
        }
        unsafe lines.append(line, field)
    }

    /// Adds the continuation of the last field (RFC 9112, section 5.2).
    private mutating func parseFold(_ line: UnsafeRawBufferPointer) throws(HeadFailure) {
        let value = unsafe line.withoutLineEnd.trimmed(from: 0)
        // A fold in a field that frames the message can be interpreted in two ways by two recipients.
        guard place == .fields, lines.count > 0, !isLastFraming, unsafe value.isFieldValue else {
            throw .badFieldLine(unsafe line.withoutLineEnd.excerpt)
        }
        unsafe lines.continueLast(with: value)
    }

    private mutating func noteFraming(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(HeadFailure) {
        switch name.count {
        case 14 where unsafe name.isEqualIgnoringCase("content-length"):
            isLastFraming = true
            if contentLength == nil, let length = unsafe value.decimal {
                contentLength = length
                return
            }
            // A list of equal values counts as one value (RFC 9112, section 6.3).
            let text = unsafe String(decoding: value, as: UTF8.self)
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                var digits = part.drop { $0 == " " || $0 == "\t" }
                while digits.last == " " || digits.last == "\t" { digits.removeLast() }
                guard let length = Int64(digits), length >= 0, digits.first != "+", digits.first != "-" else {
                    throw .badContentLength(unsafe value.excerpt)
                }
                guard contentLength == nil || contentLength == length else { throw .conflictingContentLength }
                contentLength = length
            }
        case 16 where unsafe name.isEqualIgnoringCase("content-encoding"):
            for name in unsafe String(decoding: value, as: UTF8.self).lowercased().split(separator: ",") {
                let name = name.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
                if !name.isEmpty, name != "identity" { contentCodings.append(name) }
            }
        case 17 where unsafe name.isEqualIgnoringCase("transfer-encoding"):
            isLastFraming = true
            hasTransferEncoding = true
        default: break
        }
    }
}
