import CurlEngine
import TrellisCore

/// The items of a form or a query.
enum FormItems {
    /// Returns the items by name, decoded; the last of several items with the same name counts.
    static func parse(_ text: Substring) -> [String: String] {
        text.split(atByte: "&").reduce(into: [:]) { items, item in
            let name = item.prefix(beforeBytes: "=")
            let value = item.utf8.dropFirst(name.utf8.count + 1)
            items[decoded(name)] = decoded(Substring(value))
        }
    }

    /// Returns a text without its percent-encoding, and with spaces for its plus signs.
    static func decoded(_ text: Substring) -> String {
        let spaced = String(text).replacing(byte: "+", with: " ")
        return PercentEncoding.decode(spaced) ?? spaced
    }
}
