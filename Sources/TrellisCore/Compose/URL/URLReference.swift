import CurlEngine

/// A URL or a relative reference in its five parts (RFC 3986, section 4.1 and appendix B), as text: the parts are not decoded,
/// encoded or checked.
package struct URLReference: Hashable, Sendable {
    /// The scheme, without the colon; `nil` if there is none.
    private(set) var scheme: String?
    /// The authority, without the slashes; `nil` if there is none.
    package private(set) var authority: String?
    /// The path; empty if there is none.
    package private(set) var path: String
    /// The query, without the question mark; `nil` if there is none.
    private(set) var query: String?
    /// The fragment, without the number sign; `nil` if there is none.
    package private(set) var fragment: String?

    /// Splits a reference into its parts, none of which is checked.
    package init(_ text: String) {
        var rest = text[...]
        fragment = Self.split(&rest, at: "#")
        query = Self.split(&rest, at: "?")
        if let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon].utf8) {
            scheme = String(rest[..<colon])
            rest = rest[rest.utf8.index(after: colon)...]
        }
        if rest.utf8.starts(with: "//".utf8) {
            rest = Substring(rest.utf8.dropFirst(2))
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = String(rest)
    }

    /// The text of the reference, recomposed from its parts (RFC 3986, section 5.3).
    package var text: String {
        var text = scheme.map { "\($0):" } ?? ""
        if let authority { text += "//\(authority)" }
        text += path
        if let query { text += "?\(query)" }
        if let fragment { text += "#\(fragment)" }
        return text
    }

    /// Returns the target of the reference relative to `base` (RFC 3986, section 5.2.2, strict).
    package func resolved(against base: URLReference) -> URLReference {
        var target = self
        if scheme != nil {
            target.path = Self.removingDotSegments(path)
            return target
        }
        target.scheme = base.scheme
        if authority != nil {
            target.path = Self.removingDotSegments(path)
            return target
        }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else {
            target.path = Self.removingDotSegments(path.utf8.first == UInt8(ascii: "/") ? path : merged(with: base))
        }
        return target
    }

    /// Returns the path merged with the path of the base (RFC 3986, section 5.2.3).
    private func merged(with base: URLReference) -> String {
        if base.authority != nil, base.path.isEmpty { return "/\(path)" }
        guard let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return base.path[..<slash] + "/" + path
    }

    /// Returns a path without the segments `.` and `..` (RFC 3986, section 5.2.4).
    static func removingDotSegments(_ path: String) -> String {
        var input = path.utf8[...]
        var output: [Substring] = []
        while !input.isEmpty {
            if input.starts(with: "../".utf8) {
                input = input.dropFirst(3)
            } else if input.starts(with: "./".utf8) || input.starts(with: "/./".utf8) {
                input = input.dropFirst(2)
            } else if input.starts(with: "/../".utf8) {
                input = input.dropFirst(3)
                _ = output.popLast()
            } else if input.elementsEqual("/.".utf8) {
                input = "/".utf8[...]
            } else if input.elementsEqual("/..".utf8) {
                input = "/".utf8[...]
                _ = output.popLast()
            } else if input.elementsEqual(".".utf8) || input.elementsEqual("..".utf8) {
                input = input.dropFirst(2)
            } else {
                let end = input.dropFirst().firstIndex(of: UInt8(ascii: "/")) ?? input.endIndex
                output.append(Substring(input[..<end]))
                input = input[end...]
            }
        }
        return output.joined()
    }

    /// Removes the first `mark` and the text after it, and returns that text; `nil` if there is no such mark.
    private static func split(_ text: inout Substring, at mark: Unicode.Scalar) -> String? {
        guard let index = text.utf8.firstIndex(of: UInt8(ascii: mark)) else { return nil }
        defer { text = text[..<index] }
        return String(text[text.utf8.index(after: index)...])
    }

    /// Returns `true` if a text is a scheme (RFC 3986, section 3.1).
    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, isLetter(first) else { return false }
        return text.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
}

extension String {
    /// Whether the text is the scheme `http` or `https`, in any case (RFC 9110, section 4.2.3).
    package var isHTTPScheme: Bool { ["http", "https"].contains(lowercasedASCII()) }
}
