private import Glibc

/// The status line of a response.
struct StatusLine {
    let version: WireVersion
    let status: Int
    /// The reason phrase; empty if there is none.
    let reason: String

    /// Parses `HTTP/1.1 200 OK` of HTTP/1, or libcurl's form `HTTP/2 200 ` of later versions; `nil` if the line is another one (RFC 9112,
    /// section 4: the name is case-sensitive, the status has three digits, and the reason may be omitted).
    init?(_ line: UnsafeRawBufferPointer) {
        let rest: Int
        if unsafe line.hasPrefix("HTTP/1.1 ") {
            (version, rest) = (.http1_1, 9)
        } else if unsafe line.hasPrefix("HTTP/1.0 ") {
            (version, rest) = (.http1_0, 9)
        } else if unsafe line.hasPrefix("HTTP/2 ") {
            (version, rest) = (.http2, 7)
        } else if unsafe line.hasPrefix("HTTP/3 ") {
            (version, rest) = (.http3, 7)
        } else {
            return nil
        }
        guard line.count >= rest + 3 else { return nil }
        var status = 0
        for index in rest..<rest + 3 {
            let digit = unsafe line[index]
            guard digit >= 48, digit <= 57 else { return nil }
            status = status * 10 + Int(digit - 48)
        }
        self.status = status
        guard line.count > rest + 3 else {
            reason = ""
            return
        }
        guard unsafe line[rest + 3] == UInt8(ascii: " ") else { return nil }
        // The phrase of most responses needs no check.
        if line.count == rest + 6, unsafe line[rest + 4] == UInt8(ascii: "O") && line[rest + 5] == UInt8(ascii: "K") {
            reason = version == .http2 || version == .http3 ? "" : "OK"
            return
        }
        let text = unsafe UnsafeRawBufferPointer(rebasing: line[(rest + 4)...])
        guard unsafe text.isFieldValue else { return nil }
        reason = unsafe version == .http2 || version == .http3 ? "" : String(decoding: text, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// The line without CRLF or LF at its end.
    var withoutLineEnd: UnsafeRawBufferPointer {
        var end = count
        if end > 0, unsafe self[end - 1] == 10 { end -= 1 }
        if end > 0, unsafe self[end - 1] == 13 { end -= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: self[..<end])
    }

    @inline(__always)
    func hasPrefix(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where unsafe self[index] != text.utf8Start[index] { return false }
        return true
    }

    /// Returns the bytes from `start` to the end, without spaces and tabs at both ends.
    func trimmed(from start: Int) -> UnsafeRawBufferPointer {
        var (low, high) = (start, count)
        while low < high, unsafe self[low] == 32 || self[low] == 9 { low += 1 }
        while high > low, unsafe self[high - 1] == 32 || self[high - 1] == 9 { high -= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: self[low..<high])
    }

    /// Whether the bytes hold no NUL, CR or LF (RFC 9110, section 5.5).
    var isFieldValue: Bool {
        for index in 0..<count {
            let byte = unsafe self[index]
            if byte == 0 || byte == 10 || byte == 13 { return false }
        }
        return true
    }

    /// The bytes as a decimal number of at most 18 digits; `nil` if they are not such a number.
    var decimal: Int64? {
        guard count > 0, count <= 18 else { return nil }
        var value: Int64 = 0
        for index in 0..<count {
            let byte = unsafe self[index]
            guard byte >= 48, byte <= 57 else { return nil }
            value = value * 10 + Int64(byte - 48)
        }
        return value
    }

    /// Returns the index after the first line feed from an index on, if there is one.
    func lineEnd(from start: Int) -> Int? {
        guard start < count, let first = baseAddress else { return nil }
        let end = unsafe memchr(first + start, 0x0a, count - start)
        return unsafe end.map { unsafe UnsafeRawPointer($0) - first + 1 }
    }

    /// The bytes as the value of a `Content-Length`. Other values may be known. A list of equal values counts as one value (RFC 9112,
    /// section 6.3).
    func contentLength(known: Int64?) throws(HeadFailure) -> Int64 {
        if known == nil, let length = unsafe decimal { return length }
        var length = known
        let text = unsafe String(decoding: self, as: UTF8.self)
        for part in text.split(atByte: ",", omittingEmptySubsequences: false) {
            var digits = part.utf8.drop { $0 == 0x20 || $0 == 0x09 }
            while digits.last == 0x20 || digits.last == 0x09 { digits.removeLast() }
            guard digits.allSatisfy({ 0x30...0x39 ~= $0 }), let next = Int64(Substring(digits)) else {
                throw .badContentLength(unsafe excerpt)
            }
            guard length == nil || length == next else { throw .conflictingContentLength }
            length = next
        }
        guard let length else { throw .badContentLength(unsafe excerpt) }
        return length
    }

    /// The first 80 bytes as text for messages, with control characters replaced.
    var excerpt: String {
        let text = unsafe String(decoding: prefix(80), as: UTF8.self)
        let printable = String(text.map { $0.isASCII && ($0.asciiValue ?? 0) < 32 ? "·" : $0 })
        return count > 80 ? printable + "…" : printable
    }
}
