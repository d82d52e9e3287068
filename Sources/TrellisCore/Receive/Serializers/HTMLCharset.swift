import CurlEngine
import FoundationEssentials

/// The encoding that an HTML document names in a `<meta>` element of its first 1,024 bytes (WHATWG HTML, section 13.2.3.2).
struct HTMLCharset {
    /// The first bytes in lower case.
    private let bytes: [UInt8]
    private var index = 0

    private init(_ data: Data) {
        bytes = Array(String(decoding: data.prefix(1024), as: UTF8.self).lowercasedASCII().utf8)
    }

    /// Returns the first label of an encoding that is supported; `nil` if there is none.
    static func label(in data: Data) -> String? {
        var scanner = HTMLCharset(data)
        while let attributes = scanner.nextMeta() {
            guard let label = label(in: attributes)?.withoutBlanks else { continue }
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
        if let charset = attributes["charset"] { return charset }
        guard attributes["http-equiv"] == "content-type", let content = attributes["content"] else { return nil }
        return MediaType(content)?.charset
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

    /// Returns the next attribute of a tag; `nil` behind the last one.
    private mutating func attribute() -> (name: String, value: String)? {
        _ = take { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
        guard index < bytes.count, bytes[index] != UInt8(ascii: ">") else { return nil }
        // An equals sign in front is part of the name.
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
