import CurlEngine
import FoundationEssentials

/// The encoding that an HTML document names in a `<meta>` element of its first 1,024 bytes (WHATWG HTML, section 13.2.3.2).
struct HTMLCharset {
    /// The first bytes in lower case.
    private let bytes: [UInt8]
    private var index = 0

    /// - Parameter text: A text in lower case.
    private init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the first label of an encoding that is supported; `nil` if there is none.
    static func label(in data: Data) -> String? {
        var scanner = HTMLCharset(String(decoding: data.prefix(1024), as: UTF8.self).lowercasedASCII())
        while let attributes = scanner.nextMeta() {
            guard let label = label(in: attributes) else { continue }
            switch String.Encoding(charset: label) {
            // A document whose label can be read is in no encoding of two or four bytes.
            case .utf16, .utf16BigEndian, .utf16LittleEndian: return "utf-8"
            case .utf32, .utf32BigEndian, .utf32LittleEndian: continue
            case .some: return label
            case nil: if Charset(label: label) != nil { return label }
            }
        }
        return nil
    }

    private static func label(in attributes: [String: String]) -> String? {
        if let charset = attributes["charset"] { return withoutSpace(charset[...]) }
        guard attributes["http-equiv"] == "content-type", let content = attributes["content"] else { return nil }
        var scanner = HTMLCharset(content)
        return scanner.labelInContent().map { withoutSpace($0[...]) }
    }

    /// Returns the text after `charset=`, whatever is before it (WHATWG HTML, "Extracting character encodings from meta elements"): the
    /// content need not be a media type.
    private mutating func labelInContent() -> String? {
        while index < bytes.count {
            guard skip("charset") else {
                index += 1
                continue
            }
            _ = take(Self.isSpace)
            guard skip("=") else { continue }
            _ = take(Self.isSpace)
            for quote in ["\"", "'"] where skip(quote) {
                let label = take { $0 != quote.utf8.first }
                return index < bytes.count ? label : nil
            }
            return take { !Self.isSpace($0) && $0 != UInt8(ascii: ";") }
        }
        return nil
    }

    /// Returns a label without the space around it.
    private static func withoutSpace(_ label: Substring) -> String {
        var bytes = label.utf8
        while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// Returns the attributes of the next `<meta>` element; `nil` if there is none.
    private mutating func nextMeta() -> [String: String]? {
        while index < bytes.count {
            if skip("<!--") {
                // A comment may end with its own beginning: `<!-->`.
                index -= 2
                while index < bytes.count, !skip("-->") { index += 1 }
            } else if skip("<") {
                guard let isEnd = beginTag() else { continue }
                let name = take { !Self.isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") }
                var attributes: [String: String] = [:]
                while let (name, value) = attribute() { if attributes[name] == nil { attributes[name] = value } }
                if !isEnd, name == "meta", index < bytes.count { return attributes }
            } else {
                index += 1
            }
        }
        return nil
    }

    /// Skips the slash of an end tag. Returns whether there is one; `nil` if no name of an element follows.
    private mutating func beginTag() -> Bool? {
        let isEnd = skip("/")
        guard index < bytes.count, (0x61...0x7A).contains(bytes[index]) else { return nil }
        return isEnd
    }

    /// Returns the next attribute of a tag; `nil` after the last one.
    private mutating func attribute() -> (name: String, value: String)? {
        _ = take { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
        guard index < bytes.count, bytes[index] != UInt8(ascii: ">") else { return nil }
        // An equals sign at the beginning is part of the name.
        let first = String(decoding: [bytes[index]], as: UTF8.self)
        index += 1
        let name =
            first
            + take { ![UInt8(ascii: "="), UInt8(ascii: "/"), UInt8(ascii: ">")].contains($0) && !Self.isSpace($0) }
        _ = take(Self.isSpace)
        guard skip("=") else { return (name, "") }
        _ = take(Self.isSpace)
        for quote in ["\"", "'"] where skip(quote) {
            let value = take { $0 != quote.utf8.first }
            index = min(index + 1, bytes.count)
            return (name, value)
        }
        return (name, take { !Self.isSpace($0) && $0 != UInt8(ascii: ">") })
    }

    private mutating func skip(_ text: String) -> Bool {
        guard bytes[index...].starts(with: text.utf8) else { return false }
        index += text.utf8.count
        return true
    }

    private mutating func take(_ isPart: (UInt8) -> Bool) -> String {
        let part = bytes[index...].prefix(while: isPart)
        index = part.endIndex
        return String(decoding: part, as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains(byte) }
}
