import CCurl
private import Glibc

/// The version of HTTP that carried a response.
package enum WireVersion: UInt8, Hashable, Sendable {
    /// The versions.
    case http1_0, http1_1, http2, http3
}

/// A response head as received. Its fields stay bytes until they are read.
package struct WireHead: Hashable, Sendable {
    /// The version of HTTP.
    package let version: WireVersion
    /// The status code.
    package let status: Int
    /// The reason phrase; empty if there is none, as in every version but HTTP/1.
    package let reason: String
    /// The fields of the head.
    package let fields: WireFields

    /// Creates a head.
    package init(version: WireVersion, status: Int, reason: String, fields: WireFields) {
        self.version = version
        self.status = status
        self.reason = reason
        self.fields = fields
    }

    /// Returns whether a final response with a status has no body, whatever its fields say (RFC 9112, section 6.3).
    package static func hasNoBody(status: Int) -> Bool { status == 204 || status == 304 }

    /// Returns whether the final response to a request has no body, whatever its fields say (RFC 9112, section 6.3).
    package static func hasNoBody(method: String, status: Int) -> Bool {
        method == "HEAD" || hasNoBody(status: status)
    }
}

/// Field lines, each with a `name`, a colon, a `value` with the white space before it, and a line feed.
///
/// The names are tokens, and no value contains a NUL, CR or LF.
package struct WireFields: Hashable, Sendable {
    /// The maximum number of fields in a head, or in trailers. `HTTPFields` traps beyond 65,535.
    package static let maximumCount = 10_000

    /// The lines.
    package private(set) var bytes: [UInt8] = []
    /// The number of fields.
    package private(set) var count = 0

    /// Creates an empty list of fields.
    package init() {}

    /// Creates fields from lines.
    init(bytes: [UInt8], count: Int) {
        self.bytes = bytes
        self.count = count
    }

    /// The parts of a field line: the name from its start to `nameEnd`, the value from `valueStart` to its end.
    package struct Parts {
        /// The end of the name.
        package let nameEnd: Int
        /// The start of the value.
        package let valueStart: Int
        /// A hash of the whole line.
        package let hash: UInt64
    }

    /// Calls `body` with the line of each field, in order, without its line feed.
    package func forEachLine(_ body: (_ line: Span<UInt8>, _ parts: Parts) -> Void) {
        let span = bytes.span
        var start = 0
        var field = ccurl_field()
        while start < span.count {
            let length = unsafe span.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.map { unsafe ccurl_field_next($0, bytes.count, start, &field) } ?? 0
            }
            guard length > 0 else { return }
            body(
                span.extracting(start..<start + field.value_end),
                Parts(nameEnd: field.name_length, valueStart: field.value_start, hash: field.hash))
            start += length
        }
    }

    /// Calls `body` with the name and the value of each field whose name has one of certain lengths, in order, until it returns `false`.
    /// Returns whether it never did.
    ///
    /// - Parameter nameLengths: The lengths below 64, each as a bit.
    package func allSatisfy(
        nameLengths: UInt64, _ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool
    ) -> Bool {
        let span = bytes.span
        var start = 0
        var field = ccurl_field()
        while true {
            let from = start
            start = unsafe span.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.map {
                    unsafe ccurl_field_next_sized($0, bytes.count, from, nameLengths, &field)
                } ?? bytes.count
            }
            guard start < span.count else { return true }
            let line = span.extracting(start..<start + field.value_end)
            guard body(line.extracting(..<field.name_length), line.extracting(field.value_start...)) else {
                return false
            }
            start += field.value_end + 1
        }
    }

    /// Calls `body` with the line of each field that differs from the field in the same place of another list, in order, without its line
    /// feed. Returns `false` if the lists have different numbers of fields, or if more than `limit` fields differ; `body` may have been
    /// called for the first of them.
    package func forEachDifference(
        from other: WireFields, limit: Int, _ body: (_ index: Int, _ line: Span<UInt8>, _ parts: Parts) -> Void
    ) -> Bool {
        guard count == other.count else { return false }
        let span = bytes.span
        var place = ccurl_lines_place()
        var field = ccurl_field()
        var differences = 0
        while true {
            let lengths = unsafe span.withUnsafeBytes { lines in
                unsafe other.bytes.withUnsafeBytes { others in
                    unsafe Self.lengthsOfDifference(of: lines, from: others, at: &place, &field)
                }
            }
            guard let lengths else { return place.index == count && place.start == span.count }
            differences += 1
            guard differences <= limit else { return false }
            body(
                place.index, span.extracting(place.start..<place.start + field.value_end),
                Parts(nameEnd: field.name_length, valueStart: field.value_start, hash: field.hash))
            place.start += lengths.own
            place.other_start += lengths.other
            place.index += 1
        }
    }

    /// Moves a place to the next lines that differ, and finds the parts of the first list's line. Returns the lengths of both lines with
    /// their line feeds; `nil` at the end of one of the lists.
    private static func lengthsOfDifference(
        of lines: UnsafeRawBufferPointer, from others: UnsafeRawBufferPointer, at place: inout ccurl_lines_place,
        _ field: inout ccurl_field
    ) -> (own: Int, other: Int)? {
        guard let start = lines.baseAddress, let otherStart = others.baseAddress else { return nil }
        unsafe ccurl_lines_skip_same(start, lines.count, otherStart, others.count, &place)
        guard place.start < lines.count, place.other_start < others.count else { return nil }
        let other = unsafe ccurl_field_next(otherStart, others.count, place.other_start, &field)
        let own = unsafe ccurl_field_next(start, lines.count, place.start, &field)
        return own > 0 && other > 0 ? (own, other) : nil
    }

    /// Returns the values of the fields with a name, which is in lower case, in order.
    package func values(of name: String) -> [[UInt8]] {
        guard count > 0, !name.isEmpty else { return [] }
        var name = name
        return name.withUTF8 { name in
            unsafe bytes.withUnsafeBytes { lines in
                guard let lines = lines.baseAddress, let text = name.baseAddress else { return [] }
                var values: [[UInt8]] = []
                var (start, field) = (0, ccurl_field())
                while true {
                    start = unsafe ccurl_field_find(lines, bytes.count, start, text, name.count, &field)
                    guard start > 0 else { return values }
                    let value = unsafe UnsafeRawBufferPointer(
                        start: lines + field.value_start, count: field.value_end - field.value_start)
                    let octets = unsafe [UInt8](value)
                    // Most names have one value, for which an array of one is made in one step.
                    if values.isEmpty { values = [octets] } else { values.append(octets) }
                }
            }
        }
    }

    /// Returns the length of the value of the first field with a name, which is in lower case; `nil` without such a field.
    package func firstValueLength(of name: [UInt8]) -> Int? {
        unsafe bytes.withUnsafeBytes { lines in
            unsafe name.withUnsafeBytes { name in
                guard let lines = lines.baseAddress, let text = name.baseAddress else { return nil }
                var field = ccurl_field()
                guard unsafe ccurl_field_find(lines, bytes.count, 0, text, name.count, &field) > 0 else { return nil }
                return field.value_end - field.value_start
            }
        }
    }
}

extension WireFields {
    /// The content codings of the body in the order in which they were applied (RFC 9110, section 8.4), without `identity`.
    var contentCodings: [String] {
        values(of: "content-encoding").flatMap { String(decoding: $0, as: UTF8.self).contentCodings }
    }

    /// The number of seconds for which the server keeps an idle connection, if it says so in `Keep-Alive: timeout=`.
    var keepAliveTimeout: Int? {
        for value in values(of: "keep-alive") {
            for parameter in String(decoding: value, as: UTF8.self).lowercasedASCII().split(atByte: ",") {
                let text = parameter.utf8.filter { $0 != 0x20 && $0 != 0x09 && $0 != UInt8(ascii: "\"") }
                guard text.starts(with: "timeout=".utf8) else { continue }
                return Int(String(decoding: text.dropFirst(8), as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
            }
        }
        return nil
    }
}

extension String {
    /// The content codings in a value of `Content-Encoding`, in lower case and without `identity`.
    var contentCodings: [String] {
        lowercasedASCII().split(atByte: ",").compactMap { name in
            let words = name.utf8.split { $0 == 0x20 || $0 == 0x09 }.map { String(Substring($0)) }
            let name = words.joined(separator: " ")
            return name.isEmpty || name == "identity" ? nil : name
        }
    }
}

extension [UInt8] {
    /// Returns whether there is a NUL, CR or LF among the bytes from an index on.
    func hasLineBreak(from start: Int) -> Bool {
        unsafe withUnsafeBytes { bytes in
            guard let first = bytes.baseAddress, start < bytes.count else { return false }
            return unsafe ccurl_has_line_break(first + start, bytes.count - start)
        }
    }
}

extension Span<UInt8> {
    /// Returns whether another span has the same bytes.
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                guard let one = bytes.baseAddress, let two = other.baseAddress else { return true }
                return unsafe memcmp(one, two, bytes.count) == 0
            }
        }
    }

    /// Returns whether the bytes, which are a token, are a name in any case. The name has only letters in lower case and hyphens.
    package func isName(_ name: [UInt8]) -> Bool {
        guard count == name.count else { return false }
        return unsafe withUnsafeBytes { bytes in
            unsafe name.withUnsafeBytes { name in
                guard let one = bytes.baseAddress, let other = name.baseAddress else { return true }
                return unsafe ccurl_field_is_name(one, other, bytes.count)
            }
        }
    }

    /// Returns whether an array has the same bytes.
    package func hasSameBytes(as other: [UInt8]) -> Bool {
        hasSameBytes(as: other.span)
    }
}
