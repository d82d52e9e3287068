/// A cache of the URLs that were parsed last. Programs request the same URLs repeatedly, and parsing costs more than a lookup.
package final class WireURLCache: Sendable {
    private static let slotCount = 64
    private let slots = Locked([(text: String, url: WireURL)?](repeating: nil, count: slotCount))

    /// Creates an empty cache.
    package init() {}

    /// Returns the parsed URL of a text, from the cache or parsed now. URLs with user information are not cached.
    package func url(parsing text: String) throws(WireURL.ParseFailure) -> WireURL {
        let slot = Int(UInt(bitPattern: text.hashValue) % UInt(Self.slotCount))
        // A text that is not ASCII, but equals an ASCII text for `==`, is longer.
        if let known = slots.withLock({ $0[slot] }), known.text == text, known.text.utf8.count == text.utf8.count {
            return known.url
        }
        let url = try WireURL(parsing: text)
        // For texts that are not ASCII, `==` treats some different spellings as equal.
        let isKept = url.user == nil && url.password == nil && text.utf8.allSatisfy { $0 < 0x80 }
        if isKept { slots.withLock { $0[slot] = (text, url) } }
        return url
    }
}
