import CurlEngine

extension AuthenticationChallenge {
    /// Returns the challenges of one field, in their order.
    ///
    /// A comma separates challenges as well as parameters: an element of the form `name=value` belongs to the challenge before
    /// it, any other element begins with a scheme.
    package static func parse(_ field: String) -> [AuthenticationChallenge] {
        var challenges: [Draft] = []
        for element in FieldScanner.elements(of: field) {
            guard !FieldScanner(element).isAtEnd else { continue }
            if let (name, value) = parameter(element) {
                guard !challenges.isEmpty else { continue }
                challenges[challenges.count - 1].add(name, value)
            } else if let draft = Draft(element) {
                challenges.append(draft)
            } else if !challenges.isEmpty {
                challenges[challenges.count - 1].isMalformed = true
            }
        }
        return challenges.compactMap(\.challenge)
    }

    /// Returns the name, in lower case, and the value of a `name=value` element; `nil` if the text has another form.
    private static func parameter(_ text: some StringProtocol) -> (name: String, value: String)? {
        var scanner = FieldScanner(text)
        guard let name = scanner.token() else { return nil }
        scanner.skipSpace()
        guard scanner.take("=") else { return nil }
        scanner.skipSpace()
        guard let value = scanner.tokenOrQuoted() else { return nil }
        scanner.skipSpace()
        return scanner.isAtEnd ? (name.lowercasedASCII(), value) : nil
    }

    /// A challenge that is still being put together from its elements.
    private struct Draft {
        private let scheme: String
        private var parameters: [String: String] = [:]
        private var token68: String?
        /// Whether an element broke the grammar, so that the challenge is left out.
        var isMalformed = false

        /// Begins a challenge with the element that names its scheme; `nil` if the element does not begin with a scheme.
        init?(_ element: Substring) {
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            let text = Substring(element.utf8.drop(while: isBlank))
            let end = text.utf8.firstIndex { !FieldScanner.isTokenByte($0) } ?? text.endIndex
            let rest = text[end...]
            guard end > text.startIndex, rest.utf8.first.map(isBlank) != false else { return nil }
            scheme = String(text[..<end])
            let trimmed = rest.utf8.split(whereSeparator: isBlank).map { Substring($0) }
            if trimmed.isEmpty { return }
            if let (name, value) = parameter(rest) {
                parameters[name] = value
            } else if trimmed.count == 1, Self.isToken68(trimmed[0]) {
                token68 = String(trimmed[0])
            } else {
                isMalformed = true
            }
        }

        mutating func add(_ name: String, _ value: String) {
            if token68 != nil { isMalformed = true }
            if parameters[name] == nil { parameters[name] = value }
        }

        var challenge: AuthenticationChallenge? {
            isMalformed ? nil : AuthenticationChallenge(scheme: scheme, parameters: parameters, token68: token68)
        }

        private static func isToken68(_ text: Substring) -> Bool {
            let characters = text.utf8.prefix { $0 != UInt8(ascii: "=") }
            return !characters.isEmpty && text.utf8[characters.endIndex...].allSatisfy { $0 == UInt8(ascii: "=") }
                && characters.allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                        UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                        true
                    default: false
                    }
                }
        }
    }
}
