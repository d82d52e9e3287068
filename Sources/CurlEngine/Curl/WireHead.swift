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

    /// Creates fields from lines.
    fileprivate init(bytes: [UInt8], count: Int) {
        self.bytes = bytes
        self.count = count
    }

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
}

/// The lines of fields while a head arrives, in memory that is freed when the head is complete. An array of the exact size follows then,
/// which a response may keep for long.
@safe
struct FieldLines: ~Copyable {
    private var start: UnsafeMutableRawPointer?
    private var capacity = 0
    private var length = 0
    /// The number of fields.
    private(set) var count = 0

    init() { unsafe start = nil }

    deinit { unsafe start?.deallocate() }

    /// The fields of the lines.
    var fields: WireFields {
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: length)
        return unsafe WireFields(bytes: [UInt8](bytes), count: count)
    }

    /// Adds a field from a line.
    mutating func append(_ line: UnsafeRawBufferPointer, _ field: ccurl_field) {
        unsafe append(line, field.value_end)
        count += 1
    }

    /// Continues the last value after a line fold (RFC 9112, section 5.2).
    mutating func continueLast(with value: UnsafeRawBufferPointer) {
        guard let start = unsafe start, length > 0 else { return }
        unsafe start.storeBytes(of: UInt8(ascii: " "), toByteOffset: length - 1, as: UInt8.self)
        unsafe append(value, value.count)
    }

    mutating func removeAll() {
        unsafe start?.deallocate()
        unsafe start = nil
        (capacity, length, count) = (0, 0, 0)
    }

    /// Adds the first bytes of a line, and a line feed.
    private mutating func append(_ line: UnsafeRawBufferPointer, _ size: Int) {
        let end = length + size + 1
        if end > capacity { grow(to: max(end, 2 * capacity, 512)) }
        guard let target = unsafe start?.advanced(by: length), let source = line.baseAddress else { return }
        unsafe target.copyMemory(from: source, byteCount: size)
        unsafe target.storeBytes(of: UInt8(ascii: "\n"), toByteOffset: size, as: UInt8.self)
        length = end
    }

    private mutating func grow(to size: Int) {
        let grown = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
        if let start = unsafe start {
            unsafe grown.copyMemory(from: start, byteCount: length)
            unsafe start.deallocate()
        }
        unsafe start = grown
        capacity = size
    }
}
