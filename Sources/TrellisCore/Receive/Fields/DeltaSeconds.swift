/// A number of seconds in a field (RFC 9111, section 1.2.2).
package enum DeltaSeconds {
    /// Returns the number that a text of digits stands for, at most the largest one of the type; `nil` for any other text.
    package static func parse(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int64(text) ?? .max
    }
}
