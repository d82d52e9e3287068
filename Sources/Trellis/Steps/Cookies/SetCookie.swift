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
    /// Indicates whether the field names a path.
    private(set) var hasPath = false
    /// The path; `nil` if the cookie has the default path, made from the request's.
    private(set) var path: String?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite = Cookie.SameSite.unspecified

    /// Creates the value by parsing a field; `nil` if the field is to be ignored.
    init?(_ text: String) {
        guard !Self.hasControl(text) else { return nil }
        let bytes = text[...].utf8
        var attributes = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).makeIterator()
        guard let pair = attributes.next() else { return nil }
        let (left, right) = Self.parts(pair)
        let (name, value) = right.map { (left, $0) } ?? (left.prefix(0), left)
        guard OctetText.count(name) + OctetText.count(value) <= Cookie.maximumSize, !(name.isEmpty && value.isEmpty)
        else { return nil }
        self.name = String(Substring(name))
        self.value = String(Substring(value))
        while let attribute = attributes.next() {
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

    /// Returns the text before and after the first equals sign, if there is one, without blanks around them.
    private static func parts(_ text: Substring.UTF8View) -> (Substring.UTF8View, Substring.UTF8View?) {
        guard let sign = text.firstIndex(of: UInt8(ascii: "=")) else { return (text.trimmingBlanks, nil) }
        return (text[..<sign].trimmingBlanks, text[text.index(after: sign)...].trimmingBlanks)
    }

    /// Takes an attribute. The last of several attributes with the same name counts.
    private mutating func take(_ name: Substring.UTF8View, _ value: Substring.UTF8View) {
        guard OctetText.count(value) <= Self.maximumAttributeSize, name.count <= 8 else { return }
        switch String(decoding: name.lazy.map(\.lowercasedASCII), as: UTF8.self) {
        case "expires": if let date = CookieDate.date(value) { lifetime.expires = date }
        case "max-age": if let seconds = Self.seconds(value) { lifetime.maxAge = seconds }
        case "domain":
            let domain = value.first == UInt8(ascii: ".") ? value.dropFirst() : value
            self.domain = String(decoding: domain.lazy.map(\.lowercasedASCII), as: UTF8.self)
        case "path":
            hasPath = true
            path = value.first == UInt8(ascii: "/") ? String(Substring(value)) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite":
            let wish = String(Substring(value)).lowercased()
            sameSite = [.none, .lax, .strict].first { $0.rawValue.lowercased() == wish } ?? .unspecified
        default: break
        }
    }

    /// Parses a number of seconds: digits, with a minus sign or without (RFC 6265bis, section 5.6.2).
    private static func seconds(_ text: Substring.UTF8View) -> Int64? {
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
