import FoundationEssentials

/// The value of a `Set-Cookie` field, taken apart (section 5.6). What it means is for ``Cookie/init(_:from:at:suffixes:)``.
struct SetCookie {
    /// Longer values of attributes are as if they were not there (section 5.6, attributes, step 6).
    static let maximumAttributeSize = 1024

    let name: String
    let value: String
    private(set) var expires: Date?
    /// In seconds, up to the largest number.
    private(set) var maxAge: Int64?
    /// In lower case, without one leading dot; empty is as good as none.
    private(set) var domain = ""
    private(set) var hasPath = false
    /// `nil`: the request's own.
    private(set) var path: String?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite = Cookie.SameSite.unspecified

    /// `nil` where the whole field is to be ignored.
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
        // Ten megabytes are ten milliseconds this way.
        let bytes = text.utf8.span
        for index in bytes.indices where bytes[index].isCookieControl { return true }
        return false
    }

    /// What is before and after the first sign of equality, if there is one, without blanks around them.
    private static func parts(_ text: Substring.UTF8View) -> (Substring.UTF8View, Substring.UTF8View?) {
        guard let sign = text.firstIndex(of: UInt8(ascii: "=")) else { return (text.trimmingBlanks, nil) }
        return (text[..<sign].trimmingBlanks, text[text.index(after: sign)...].trimmingBlanks)
    }

    /// Of each attribute the last counts.
    private mutating func take(_ name: Substring.UTF8View, _ value: Substring.UTF8View) {
        guard OctetText.count(value) <= Self.maximumAttributeSize, name.count <= 8 else { return }
        switch String(decoding: name.lazy.map(\.lowercasedASCII), as: UTF8.self) {
        case "expires": if let date = CookieDate.date(value) { expires = date }
        case "max-age": if let seconds = Self.seconds(value) { maxAge = seconds }
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

    /// Digits, with a minus sign or not (section 5.6.2).
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
