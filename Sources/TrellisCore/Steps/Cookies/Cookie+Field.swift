extension Cookie {
    /// Returns the value of the single `Cookie` field to send (RFC 6265bis, section 5.8.3, step 4); `nil` if there is nothing
    /// to send.
    ///
    /// - Parameters:
    ///   - cookies: The cookies that ``CookieStorage/cookies(for:)`` returned, in its order.
    ///   - own: The value of the `Cookie` field that the request has of its own. This value is kept and is the first; cookies
    ///     whose names it contains are left out.
    public static func field(_ cookies: [Cookie], after own: String? = nil) -> String? {
        guard let own, !own.isEmpty else { return joined(cookies[...], to: "") }
        let names = own.utf8.split(separator: UInt8(ascii: ";")).map { pair in
            pair.prefix { $0 != UInt8(ascii: "=") }.trimmingBlanks
        }
        let others = cookies.filter { cookie in
            cookie.name.isEmpty || !names.contains { $0.elementsEqual(cookie.name.utf8) }
        }
        return joined(others[...], to: own)
    }

    private static func joined(_ cookies: ArraySlice<Cookie>, to own: String) -> String? {
        var text = own
        text.reserveCapacity(cookies.reduce(own.utf8.count) { $0 + $1.fieldSize })
        for cookie in cookies {
            if !text.isEmpty { text += "; " }
            cookie.append(to: &text)
        }
        return text.isEmpty ? nil : text
    }

    /// Appends the cookie as it stands in a `Cookie` field.
    func append(to text: inout String) {
        if !name.isEmpty {
            text += name
            text += "="
        }
        text += value
    }

    /// The number of bytes that the cookie adds to the field, including the separator from another cookie.
    var fieldSize: Int { Self.fieldSize(name, value) }

    /// Returns the number of bytes that a cookie adds to the field, including the separator from another cookie.
    static func fieldSize(_ name: String, _ value: String) -> Int {
        OctetText.count(name) + OctetText.count(value) + 3
    }
}

extension Substring.UTF8View {
    /// The bytes without spaces and tabs at both ends.
    package var trimmingBlanks: Substring.UTF8View {
        var slice = self
        while let first = slice.first, first == 0x20 || first == 0x09 { slice = slice.dropFirst() }
        while let last = slice.last, last == 0x20 || last == 0x09 { slice = slice.dropLast() }
        return slice
    }
}
