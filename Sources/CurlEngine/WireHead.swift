import CCurl

/// The protocol that carried a response.
package enum WireVersion: UInt8, Hashable, Sendable {
    case http1_0, http1_1, http2, http3
}

/// A response head as it came, its fields still bytes until someone asks for them.
package struct WireHead: Hashable, Sendable {
    package let version: WireVersion
    package let status: Int
    /// From HTTP/1 only.
    package let reason: String?
    /// The fields.
    package let fields: WireFields

    package init(version: WireVersion, status: Int, reason: String?, fields: WireFields) {
        self.version = version
        self.status = status
        self.reason = reason
        self.fields = fields
    }
}

/// Field lines: `name`, a colon, `value` with the white space that came before it, a line feed; and so on.
///
/// The names are tokens, and no value holds a NUL, CR or LF.
package struct WireFields: Hashable, Sendable {
    package private(set) var bytes: [UInt8] = []
    package private(set) var count = 0

    package init() {}

    /// Calls `body` with the ranges in ``bytes`` of each name and value, in order.
    package func forEach(_ body: (_ name: Range<Int>, _ value: Range<Int>) -> Void) {
        var start = 0
        while start < bytes.count {
            var colon = start
            while bytes[colon] != UInt8(ascii: ":") { colon += 1 }
            var end = colon + 1
            while bytes[end] != UInt8(ascii: "\n") { end += 1 }
            var value = colon + 1
            while bytes[value] == UInt8(ascii: " ") || bytes[value] == UInt8(ascii: "\t") { value += 1 }
            body(start..<colon, value..<end)
            start = end + 1
        }
    }

    mutating func append(_ line: UnsafeRawBufferPointer, _ field: ccurl_field) {
        if bytes.isEmpty { bytes.reserveCapacity(512) }
        unsafe bytes.append(contentsOf: line[..<field.value_end])
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
