import CurlEngine

/// The line between two parts of a multipart body (RFC 2046, section 5.1.1).
struct MultipartDelimiter: Sendable {
    /// The result of a comparison with the start of a line.
    enum Match: Equatable {
        /// The line is not a boundary line.
        case none
        /// The bytes may be the beginning of a boundary line; more bytes are needed.
        case undecided
        /// The line is a boundary line of `length` bytes, its end included; `isLast` for the boundary after the last part.
        case line(length: Int, isLast: Bool)
    }

    /// The maximum white space after the boundary in its line, in bytes.
    static let maximumPadding = 256

    /// The two hyphens and the boundary.
    private let marker: [UInt8]

    init(_ boundary: some Sequence<UInt8>) { marker = Array("--".utf8) + boundary }

    /// Compares the boundary with the bytes at `start`, which is the start of a line.
    ///
    /// - Parameter isComplete: Whether no more bytes follow.
    func match(_ bytes: [UInt8], at start: Int, isComplete: Bool) -> Match {
        let bytes = bytes.span
        let available = min(bytes.count - start, marker.count)
        guard bytes.matches(marker.span.extracting(first: available), at: start) else { return .none }
        let undecided: Match = isComplete ? .none : .undecided
        guard available == marker.count else { return undecided }
        var end = start + marker.count
        guard end < bytes.count else { return undecided }
        var isLast = false
        if bytes[end] == UInt8(ascii: "-") {
            guard end + 1 < bytes.count else { return undecided }
            guard bytes[end + 1] == UInt8(ascii: "-") else { return .none }
            isLast = true
            end += 2
        }
        let padding = end
        while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 { end += 1 }
        guard end - padding <= Self.maximumPadding else { return .none }
        if end < bytes.count, bytes[end] == 0x0D { end += 1 }
        guard end < bytes.count else {
            // The last boundary needs no end of its line.
            return isComplete && isLast ? .line(length: end - start, isLast: true) : undecided
        }
        return bytes[end] == 0x0A ? .line(length: end + 1 - start, isLast: isLast) : .none
    }
}

extension MultipartDelimiter {
    /// Creates the delimiter from the boundary in the value of a `Content-Type` (RFC 9110, section 8.3.1).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableContentType`` if the type is not `multipart`, of kind
    ///   ``TrellisError/Kind/serialization`` if the type has no boundary of 1 to 256 bytes.
    init(contentType: String?) throws(TrellisError) {
        guard let contentType, contentType.lowercasedASCII().hasBytePrefix("multipart/") else {
            throw .wrongStream(contentType, acceptable: "multipart/*")
        }
        guard let boundary = Self.parameter("boundary", in: contentType), !boundary.isEmpty, boundary.count <= 256
        else { throw .malformedStream("the multipart content type has no boundary of 1 to 256 bytes") }
        self.init(boundary)
    }

    /// Returns the value of a parameter, unquoted. Blanks around the equals sign, and bytes in a value that a token may not have,
    /// are accepted: servers send both.
    private static func parameter(_ name: String, in text: String) -> [UInt8]? {
        var rest = Array(text.utf8)[...]
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[(semicolon + 1)...].drop(while: isBlank)
            var key = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest[key.endIndex...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            while let last = key.last, isBlank(last) { key.removeLast() }
            rest = rest.dropFirst().drop(while: isBlank)
            let value = rest.first == UInt8(ascii: "\"") ? takeQuoted(&rest) : takeToken(&rest)
            if String(decoding: key, as: UTF8.self).lowercasedASCII() == name { return value }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func takeToken(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        let token = rest.prefix { $0 != UInt8(ascii: ";") && !isBlank($0) }
        rest = rest[token.endIndex...]
        return Array(token)
    }

    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return value
    }
}
