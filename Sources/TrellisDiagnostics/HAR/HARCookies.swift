import CurlEngine
import FoundationEssentials
import TrellisCore

/// The cookies in fields, as a HAR document lists them. Nothing is checked, because a recording shows what was sent.
enum HARCookies {
    /// Returns the cookies of a field `Cookie`.
    static func sent(_ value: String) -> [HARDocument.NamedCookie] {
        value.split(atByte: ";").map { pair in
            let (name, value) = parts(pair)
            return HARDocument.NamedCookie(name: value == nil ? "" : name, value: value ?? name)
        }
    }

    /// Returns the cookie of a field `Set-Cookie`.
    static func received(_ value: String) -> HARDocument.NamedCookie {
        let pieces = value.split(atByte: ";", omittingEmptySubsequences: false)
        let (name, text) = parts(pieces.first ?? "")
        var cookie = HARDocument.NamedCookie(name: text == nil ? "" : name, value: text ?? name)
        (cookie.httpOnly, cookie.secure) = (false, false)
        for piece in pieces.dropFirst() {
            let (name, value) = parts(piece)
            switch name.lowercasedASCII() {
            case "path": cookie.path = value
            case "domain": cookie.domain = value
            case "expires": cookie.expires = value.flatMap(instant)
            case "httponly": cookie.httpOnly = true
            case "secure": cookie.secure = true
            default: break
            }
        }
        return cookie
    }

    /// Returns the value of a field `Cookie` with its names and without its values.
    static func redacted(sent value: String) -> String {
        sent(value).map { $0.name.isEmpty ? "REDACTED" : "\($0.name)=REDACTED" }.joined(separator: "; ")
    }

    /// Returns the value of a field `Set-Cookie` without the value of its cookie.
    static func redacted(received value: String) -> String {
        let attributes = value.firstIndex(ofByte: ";").map { String(value[$0...]) } ?? ""
        let name = received(value).name
        return (name.isEmpty ? "REDACTED" : "\(name)=REDACTED") + attributes
    }

    /// Returns the texts before and after the first equals sign, without blanks around them.
    private static func parts(_ text: Substring) -> (name: String, value: String?) {
        guard let sign = text.firstIndex(ofByte: "=") else { return (trimmed(text), nil) }
        return (trimmed(text[..<sign]), trimmed(text[text.utf8.index(after: sign)...]))
    }

    private static func trimmed(_ text: Substring) -> String {
        var bytes = text.utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// Returns an instant in the form of RFC 3339; `nil` if the text is no date of HTTP.
    private static func instant(_ text: String) -> String? {
        let now = HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        guard let date = HTTPDate(text.replacing(byte: "-", with: " "), now: now) ?? HTTPDate(text, now: now) else {
            return nil
        }
        let instant = Date(timeIntervalSince1970: Double(date.secondsSince1970))
        return try? Timestamp.text(instant, withMilliseconds: true)
    }
}
