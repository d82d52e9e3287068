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
                    unsafe values.append([UInt8](value))
                }
            }
        }
    }

    /// Calls `body` with the bytes of each name and value, in order.
    package func forEach(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
        forEachLine { line, parts in
            body(line.extracting(..<parts.nameEnd), line.extracting(parts.valueStart...))
        }
    }
}

extension Span<UInt8> {
    /// Returns whether the bytes are those of another span.
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                guard let one = bytes.baseAddress, let two = other.baseAddress else { return true }
                return unsafe memcmp(one, two, bytes.count) == 0
            }
        }
    }

    /// Returns whether the bytes are those of an array.
    package func hasSameBytes(as other: [UInt8]) -> Bool {
        hasSameBytes(as: other.span)
    }
}
