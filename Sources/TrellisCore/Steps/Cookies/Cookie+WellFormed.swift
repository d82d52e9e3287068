import CurlEngine

extension Cookie {
    /// The largest size of name and value together, in bytes (RFC 6265bis, section 5.6, step 5).
    static let maximumSize = 4096

    /// Whether the cookie can be written to a field and read back unchanged.
    var isWellFormed: Bool {
        let semicolon = UInt8(ascii: ";")
        return !(name.isEmpty && value.isEmpty) && OctetText.count(name) + OctetText.count(value) <= Self.maximumSize
            && !name.utf8.contains { $0 == semicolon || $0 == UInt8(ascii: "=") || $0.isCookieControl }
            && !value.utf8.contains { $0 == semicolon || $0.isCookieControl }
            && path.utf8.first == UInt8(ascii: "/") && !path.utf8.contains { $0 == semicolon || $0.isCookieControl }
    }
}

extension UInt8 {
    /// Whether the byte is a control character that no cookie may contain: all but the tab (RFC 6265bis, section 5.6,
    /// step 1).
    var isCookieControl: Bool { self < 0x20 && self != 0x09 || self == 0x7f }
}

/// The rules for the prefixes `__Secure-` and `__Host-` of a name, which promise the server properties of the cookie
/// (RFC 6265bis, section 5.4).
enum CookiePrefix {
    private static let secure = Array("__secure-".utf8)
    private static let host = Array("__host-".utf8)

    /// Returns whether the cookie has the properties that the prefix of its name promises (RFC 6265bis, section 5.7, steps 20
    /// to 22).
    ///
    /// - Parameter hasPath: whether the server named the path.
    static func allows(_ cookie: Cookie, hasPath: Bool) -> Bool {
        guard !cookie.name.isEmpty else {
            // A cookie without a name is sent as its value alone, which the server would take for a name and a value.
            return !begins(cookie.value, with: secure) && !begins(cookie.value, with: host)
        }
        if begins(cookie.name, with: secure) { return cookie.isSecure }
        if begins(cookie.name, with: host) {
            return cookie.isSecure && cookie.isHostOnly && hasPath && cookie.path == "/"
        }
        return true
    }

    /// Returns whether a text begins with a prefix, in any case, because servers may look names up in any case.
    private static func begins(_ text: String, with prefix: [UInt8]) -> Bool {
        var bytes = text.utf8.makeIterator()
        return prefix.allSatisfy { expected in bytes.next().map { $0.lowercasedASCII == expected } ?? false }
    }
}
