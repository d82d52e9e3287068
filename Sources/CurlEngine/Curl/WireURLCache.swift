/// The URLs that were parsed last. Programs ask for the same ones again and again, and parsing costs more than looking.
package final class WireURLCache: Sendable {
    private static let slotCount = 64
    private let slots = Locked([(text: String, url: WireURL)?](repeating: nil, count: slotCount))

    package init() {}

    /// The parsed URL of a text, from the cache or made now. URLs with user information are not kept.
    package func url(parsing text: String) throws(WireURL.ParseFailure) -> WireURL {
        let slot = Int(UInt(bitPattern: text.hashValue) % UInt(Self.slotCount))
        // Other texts than ASCII that `==` takes for one of ASCII are longer.
        if let known = slots.withLock({ $0[slot] }), known.text == text, known.text.utf8.count == text.utf8.count {
            return known.url
        }
        let url = try WireURL(parsing: text)
        // Of other texts than ASCII, `==` takes some for the same that are written differently.
        let isKept = url.user == nil && url.password == nil && text.utf8.allSatisfy { $0 < 0x80 }
        if isKept { slots.withLock { $0[slot] = (text, url) } }
        return url
    }
}
