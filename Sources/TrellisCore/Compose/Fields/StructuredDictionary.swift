import CurlEngine

/// A dictionary of structured fields (RFC 9651, section 3.2).
package struct StructuredDictionary: Sendable {
    /// The members in their order. A key that is repeated has its last value, in its first place.
    package private(set) var members: [(key: String, value: StructuredMember)] = []

    /// Creates an empty dictionary.
    package init() {}

    /// Parses a dictionary strictly (RFC 9651, section 4.2.2).
    ///
    /// - Parameter lines: The lines of the field, which are joined with commas.
    /// - Returns: `nil` if the text is no dictionary.
    package init?(parsing lines: [String]) {
        var scanner = StructuredScanner(lines.joined(separator: ", "))
        // The places of the members: a server may send thousands of them.
        var places: [String: Int] = [:]
        scanner.skipSpaces()
        while !scanner.isAtEnd {
            guard let key = scanner.key() else { return nil }
            let value: StructuredMember
            if scanner.take("=") {
                guard let member = scanner.member() else { return nil }
                value = member
            } else {
                guard let parameters = scanner.parameters() else { return nil }
                value = .item(StructuredItem(.boolean(true), parameters))
            }
            if let place = places[key] {
                members[place].value = value
            } else {
                places[key] = members.count
                members.append((key, value))
            }
            guard let goesOn = scanner.comma() else { return nil }
            if !goesOn { return }
        }
    }

    /// The value of a key, if there is one. Setting one keeps its place; a new one is the last.
    package subscript(key: String) -> StructuredMember? {
        get { members.first { $0.key.hasSameBytes(as: key) }?.value }
        set {
            let index = members.firstIndex { $0.key.hasSameBytes(as: key) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// The dictionary as it is written in a field (RFC 9651, section 4.1.2).
    package var text: String {
        members.map { key, value in
            if case .item(let item) = value, item.value == .boolean(true) { return key + item.parameters.text }
            return "\(key)=\(value.text)"
        }.joined(separator: ", ")
    }

    /// Returns whether a text can be a key.
    package static func isKey(_ text: String) -> Bool {
        var scanner = StructuredScanner(text)
        return scanner.key()?.utf8.count == text.utf8.count
    }
}

/// A list of structured fields (RFC 9651, section 3.1).
package struct StructuredList: Hashable, Sendable {
    /// The members in their order.
    package private(set) var members: [StructuredMember] = []

    /// Parses a list strictly (RFC 9651, section 4.2.1).
    ///
    /// - Parameter lines: The lines of the field, which are joined with commas.
    /// - Returns: `nil` if the text is no list.
    package init?(parsing lines: [String]) {
        var scanner = StructuredScanner(lines.joined(separator: ", "))
        scanner.skipSpaces()
        while !scanner.isAtEnd {
            guard let member = scanner.member() else { return nil }
            members.append(member)
            guard let goesOn = scanner.comma() else { return nil }
            if !goesOn { return }
        }
    }

    /// The list as it is written in a field (RFC 9651, section 4.1.1).
    package var text: String { members.map(\.text).joined(separator: ", ") }
}
