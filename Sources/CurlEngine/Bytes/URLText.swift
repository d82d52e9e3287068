import CCurl

/// The text of a URL before libcurl parses it. Input that browsers accept beyond RFC 3986 is converted to the form of that RFC, in the same
/// way on every version of libcurl and in every locale.
struct URLText {
    private let text: String

    init(_ text: String) { self.text = text }

    /// Returns the text with percent-encoded path and query and an ASCII host. What is percent-encoded already is normalised as newer
    /// versions of libcurl do it (RFC 3986, sections 6.2.2.1 and 6.2.2.2).
    func encoded() throws(WireURL.ParseFailure) -> String {
        let bytes = text.utf8
        guard let slashes = text.schemeMark else { return text }
        let scheme = text[..<slashes.lowerBound].lowercasedASCII()
        guard scheme == "http" || scheme == "https" else { return text }
        let rest = bytes[slashes.upperBound...]
        guard rest.first != UInt8(ascii: "/") else { throw .malformed("it has no host") }
        guard rest.contains(where: { $0 >= 0x80 || $0 == 0x25 || Self.isEncodedInPath($0) }) else { return text }
        let end = rest.firstIndex { $0 == 0x2f || $0 == 0x3f || $0 == 0x23 } ?? bytes.endIndex
        let authority = try Self.asciiAuthority(String(text[slashes.upperBound..<end]))
        return String(text[..<slashes.upperBound]) + authority + Self.encode(bytes[end...])
    }

    /// Whether the text has a query, and the query is empty.
    var hasEmptyQuery: Bool {
        let beforeFragment = text.utf8.prefix { $0 != 0x23 }
        guard let mark = beforeFragment.firstIndex(of: 0x3f) else { return false }
        return beforeFragment.index(after: mark) == beforeFragment.endIndex
    }

    /// The target of a URL with neither path nor query: `OPTIONS` has it for the server as a whole (RFC 9112, section 3.2.4).
    static let serverTarget = "*"

    /// Returns the URL of the root, and the path and query as they are to be sent; ``serverTarget`` if there are none.
    func separated() throws(WireURL.ParseFailure) -> (root: String, target: String) {
        guard let slashes = text.schemeMark else { throw .relative }
        let end = text.utf8[slashes.upperBound...].firstIndex { $0 == 0x2f || $0 == 0x3f || $0 == 0x23 }
        guard let end else { return (text + "/", Self.serverTarget) }
        let (root, target) = (String(text[..<end]) + "/", text[end...])
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x23 }) else {
            throw .malformed("its path or query has characters that cannot be sent unchanged")
        }
        return (root, target.utf8.first == 0x2f ? String(target) : "/\(target)")
    }

    /// Percent-encodes the bytes of the path and query sets of the WHATWG URL standard (section 1.3), with upper-case hexadecimal
    /// digits as in RFC 3986, section 2.1. Digits that are there become upper-case, and `%2E` a dot in a segment of dots alone, which is
    /// then removed like any other.
    private static func encode(_ bytes: Substring.UTF8View) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        var (isInQuery, segment, hexadecimal): (Bool, Int?, Int) = (false, 0, 0)
        for index in bytes.indices {
            let byte = bytes[index]
            if let start = segment, byte == 0x2f || byte == 0x3f || byte == 0x23 {
                decodeDots(of: &result, from: start)
                segment = byte == 0x2f ? result.count + 1 : nil
            }
            if byte == 0x3f { isInQuery = true }
            if byte >= 0x80 || (isInQuery ? isEncodedInQuery(byte) : isEncodedInPath(byte)) {
                result += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else if hexadecimal > 0, 0x61...0x66 ~= byte {
                result.append(byte & 0xdf)
            } else {
                result.append(byte)
            }
            let isEscape = byte == 0x25 && bytes[index...].dropFirst().prefix(2).count(where: isHexadecimal) == 2
            hexadecimal = isEscape ? 2 : max(0, hexadecimal - 1)
        }
        if let segment { decodeDots(of: &result, from: segment) }
        return String(decoding: result, as: UTF8.self)
    }

    /// Decodes the dots in the segment of a path that begins at an index and goes to the end, if it has one or two dots and nothing else.
    private static func decodeDots(of path: inout [UInt8], from start: Int) {
        var (index, count) = (start, 0)
        while index < path.count {
            if path[index...].starts(with: "%2E".utf8) {
                index += 3
            } else if path[index] == UInt8(ascii: ".") {
                index += 1
            } else {
                return
            }
            count += 1
        }
        guard count == 1 || count == 2 else { return }
        path.replaceSubrange(start..., with: repeatElement(UInt8(ascii: "."), count: count))
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte || 0x61...0x66 ~= byte | 0x20 }

    private static func isEncodedInQuery(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x22 || byte == 0x3c || byte == 0x3e
    }

    private static func isEncodedInPath(_ byte: UInt8) -> Bool {
        isEncodedInQuery(byte) || byte == 0x5e || byte == 0x60 || byte == 0x7b || byte == 0x7d
    }

    /// Converts an international name to its ASCII form (UTS 46). It uses the same library as libcurl, but does not depend on the locale as
    /// libcurl does.
    private static func asciiAuthority(_ authority: String) throws(WireURL.ParseFailure) -> String {
        let start = authority.lastIndex(ofByte: "@").map { authority.utf8.index(after: $0) } ?? authority.startIndex
        let host = authority[start...]
        guard host.utf8.contains(where: { $0 >= 0x80 }) else { return authority }
        let name = host.prefix(beforeBytes: ":")
        guard let ascii = String(name).asciiHost else {
            throw .malformed("its host is not a valid international name")
        }
        return String(authority[..<start]) + ascii + String(host[name.endIndex...])
    }
}

extension String {
    /// Returns the URL of a root with another path and query; the URL itself if there are none.
    func replacingRoot(by target: String?) -> String {
        guard let target, target != URLText.serverTarget else { return self }
        return utf8.last == 0x2f ? String(dropLast()) + target : self + target
    }

    /// The ASCII form of an international name (UTS 46), which is the name itself if it is ASCII; `nil` if the name is not valid.
    package var asciiHost: String? {
        guard utf8.contains(where: { $0 >= 0x80 }) else { return self }
        guard let ascii = unsafe ccurl_idn_to_ascii(self) else { return nil }
        defer { unsafe ccurl_free(ascii) }
        return unsafe String(cString: ascii)
    }
}
