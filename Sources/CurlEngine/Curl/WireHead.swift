import CCurl

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

    /// Calls `body` with the bytes of each name and value, in order.
    package func forEach(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
        let span = bytes.span
        var start = 0
        var field = ccurl_field()
        while start < span.count {
            let length = unsafe span.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.map { unsafe ccurl_field_next($0, bytes.count, start, &field) } ?? 0
            }
            guard length > 0 else { return }
            body(
                span.extracting(start..<start + field.name_length),
                span.extracting(start + field.value_start..<start + field.value_end))
            start += length
        }
    }

    /// Adds a field from a line.
    mutating func append(_ line: UnsafeRawBufferPointer, _ field: ccurl_field) {
        if bytes.isEmpty { bytes.reserveCapacity(512) }
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: line[..<field.value_end]))
        bytes.append(UInt8(ascii: "\n"))
        count += 1
    }

    /// Continues the last value after a line fold (RFC 9112, section 5.2).
    mutating func continueLast(with value: UnsafeRawBufferPointer) {
        bytes.removeLast()
        bytes.append(UInt8(ascii: " "))
        unsafe bytes.append(contentsOf: value)
        bytes.append(UInt8(ascii: "\n"))
    }
}
