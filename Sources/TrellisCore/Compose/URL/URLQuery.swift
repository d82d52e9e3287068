import CurlEngine
public import FoundationEssentials

/// Operations on the query of a URL, as text.
enum URLQuery {
    /// Returns a URL with encoded pairs added to its query, before its fragment.
    static func appending(_ pairs: String, to url: String) -> String {
        guard !pairs.isEmpty else { return url }
        let end = url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        let head = url[..<end]
        let separator =
            !head.utf8.contains(UInt8(ascii: "?")) ? "?" : "?&".utf8.contains(head.utf8.last ?? 0) ? "" : "&"
        return "\(head)\(separator)\(pairs)\(url[end...])"
    }

    /// Returns a URL with items added to its query, percent-encoded.
    static func appending(_ items: KeyValuePairs<String, String>, to url: String) -> String {
        items.isEmpty ? url : appending(pairs(items), to: url)
    }

    /// Returns names and values as encoded pairs, in their order.
    static func pairs(_ items: KeyValuePairs<String, String>) -> String {
        items.map { text(URLQueryItem(name: $0.key, value: $0.value)) }.joined(separator: "&")
    }

    /// Returns an item as text; an item without a value has no `=`.
    static func text(_ item: URLQueryItem) -> String {
        var bytes: [UInt8] = []
        let characters = URLEncodedFormEncoder.AllowedCharacters.default
        characters.encode(item.name, space: .percentEscaped, into: &bytes)
        if let value = item.value {
            bytes.append(UInt8(ascii: "="))
            characters.encode(value, space: .percentEscaped, into: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the names in the query of a URL, decoded as the names of a form.
    static func names(in url: String) -> Set<TextBytes> {
        let head = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let mark = head.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let items = head[head.index(after: mark)...].split(separator: UInt8(ascii: "&"))
        return Set(items.map { TextBytes(decoded($0.prefix { $0 != UInt8(ascii: "=") })) })
    }

    private static func decoded(_ text: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = escape(rest) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escape(_ rest: Substring.UTF8View) -> UInt8? {
        let digits = Array(rest.prefix(2))
        guard digits.count == 2, let high = digit(digits[0]), let low = digit(digits[1]) else { return nil }
        return high << 4 | low
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Request {
    /// Returns a copy with more items in the query of its URL, after the existing items, in this order:
    /// `request.addingQuery(["page": "2", "tag": "a", "tag": "b"])`.
    ///
    /// Names and values are percent-encoded. For numbers, arrays and structures see ``withParameters(_:encoder:)``.
    public func addingQuery(_ items: KeyValuePairs<String, String>) -> Request {
        modified { $0.url = URLQuery.appending(items, to: $0.url) }
    }

    /// Returns a copy with a list of items added to the query of its URL, after the existing items. Names and values are
    /// percent-encoded; an item without a value has no `=`.
    public func addingQuery(_ items: [URLQueryItem]) -> Request {
        modified { $0.url = URLQuery.appending(items.map(URLQuery.text).joined(separator: "&"), to: $0.url) }
    }
}
