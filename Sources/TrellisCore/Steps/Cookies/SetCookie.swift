import CurlEngine
import FoundationEssentials

/// The parsed value of a `Set-Cookie` field (RFC 6265bis, section 5.6). ``Cookie/init(_:from:at:suffixes:)`` decides about its
/// meaning.
struct SetCookie {
    /// The largest size of an attribute's value, in bytes; larger values are ignored (RFC 6265bis, section 5.6, attributes,
    /// step 6).
    static let maximumAttributeSize = 1024

    let name: String
    let value: String
    private(set) var lifetime = CookieLifetime()
    /// The domain in lower case, without one leading dot; an empty domain counts as none.
    private(set) var domain = ""
    /// Whether the field names a path.
    private(set) var hasPath = false
    /// The path; `nil` if the cookie has the default path, made from the request's.
    private(set) var path: String?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite = Cookie.SameSite.unspecified

    /// Creates the value by parsing a field; `nil` if the field is to be ignored.
    init?(_ text: String) {
        guard !Self.hasControl(text) else { return nil }
        var rest = Array(text.utf8)[...]
        guard let pair = Self.nextPart(of: &rest) else { return nil }
        let (left, right) = Self.parts(pair)
        let (name, value) = right.map { (left, $0) } ?? (left.prefix(0), left)
        guard OctetText.count(name) + OctetText.count(value) <= Cookie.maximumSize, !(name.isEmpty && value.isEmpty)
        else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
        self.value = String(decoding: value, as: UTF8.self)
        while let attribute = Self.nextPart(of: &rest) {
            let (name, value) = Self.parts(attribute)
            take(name, value ?? attribute.prefix(0))
        }
    }

    private static func hasControl(_ text: String) -> Bool {
        // A search in the span takes ten milliseconds for ten megabytes.
        let bytes = text.utf8.span
        for index in bytes.indices where bytes[index].isCookieControl { return true }
        return false
    }

    /// Removes and returns the bytes before the first semicolon; `nil` if none are left.
    private static func nextPart(of rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: ";"))
        defer { rest = end.map { rest[($0 + 1)...] } ?? [] }
        return rest[..<(end ?? rest.endIndex)]
    }

    /// Returns the text before and after the first equals sign, if there is one, without blanks around them.
    private static func parts(_ text: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
        guard let sign = text.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(text), nil) }
        return (trimmed(text[..<sign]), trimmed(text[(sign + 1)...]))
    }

    /// Returns a text without spaces and tabs at both ends.
    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var (start, end) = (text.startIndex, text.endIndex)
        while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
        while start < end, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
        return text[start..<end]
    }

    /// Takes an attribute. The last of several attributes with the same name counts.
    private mutating func take(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
        guard name.count <= 8, OctetText.count(value) <= Self.maximumAttributeSize else { return }
        switch Word(name) {
        case .expires: if let date = CookieDate.date(value) { lifetime.expires = date }
        case .maxAge: if let seconds = Self.seconds(value) { lifetime.maxAge = seconds }
        case .domain:
            let domain = value.first == UInt8(ascii: ".") ? value.dropFirst() : value
            self.domain = String(decoding: domain.map(\.lowercasedASCII), as: UTF8.self)
        case .path:
            hasPath = true
            path = value.first == UInt8(ascii: "/") ? String(decoding: value, as: UTF8.self) : nil
        case .secure: isSecure = true
        case .httpOnly: isHTTPOnly = true
        case .sameSite:
            switch Word(value) {
            case .none: sameSite = .none
            case .lax: sameSite = .lax
            case .strict: sameSite = .strict
            default: sameSite = .unspecified
            }
        default: break
        }
    }

    /// A word of at most eight bytes without regard to the case of its letters; longer words are equal to no other.
    private struct Word: Equatable {
        private let bytes: UInt64

        init(_ text: some Collection<UInt8>) {
            bytes = text.count > 8 ? .max : text.reduce(0) { $0 << 8 | UInt64($1.lowercasedASCII) }
        }

        static let expires = Word("expires".utf8)
        static let maxAge = Word("max-age".utf8)
        static let domain = Word("domain".utf8)
        static let path = Word("path".utf8)
        static let secure = Word("secure".utf8)
        static let httpOnly = Word("httponly".utf8)
        static let sameSite = Word("samesite".utf8)
        static let none = Word("none".utf8)
        static let lax = Word("lax".utf8)
        static let strict = Word("strict".utf8)

        static func ~= (pattern: Word, word: Word) -> Bool { pattern.bytes == word.bytes }
    }

    /// Parses a number of seconds: digits, with a minus sign or without (RFC 6265bis, section 5.6.2).
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        if isNegative { return 0 }
        return digits.reduce(into: 0) { sum, digit in
            let (product, overflow) = sum.multipliedReportingOverflow(by: 10)
            sum = overflow || product > .max - 9 ? .max : product + Int64(digit - 0x30)
        }
    }
}

/// The lifetime that a field gives its cookie.
struct CookieLifetime: Sendable {
    /// The date of the attribute `Expires`; `nil` if there is none.
    var expires: Date?
    /// The `Max-Age` in seconds, up to the largest number; `nil` if there is none.
    var maxAge: Int64?

    /// Returns the expiry date of a cookie that arrives now; `nil` if the cookie is a session cookie.
    func end(at now: Date) -> Date? {
        let limit = now.addingTimeInterval(Cookie.maximumAge)
        guard let maxAge else { return expires.map { min($0, limit) } }
        return maxAge <= 0 ? .distantPast : min(now.addingTimeInterval(Double(maxAge)), limit)
    }
}
