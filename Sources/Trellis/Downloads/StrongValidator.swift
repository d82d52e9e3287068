import CurlEngine
import HTTPTypes

/// What tells a representation from every other that the same URL ever had: the value for `If-Range`
/// (RFC 9110, section 13.1.5).
enum StrongValidator: Hashable, Sendable {
    /// An entity tag that is not weak, with its quotes.
    case entityTag(String)
    /// The time of the last change, where it is certain that nothing changed within that second.
    case lastModified(String)

    /// That of a response; `nil` where it has none.
    init?(_ fields: HTTPFields) {
        if let tag = fields[.eTag] {
            // A weak one says that the bytes may differ, and the time says no more then.
            guard Self.isStrong(tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        // A second before the response was made (RFC 9110, section 8.8.2.2).
        let zero = HTTPDate(secondsSince1970: 0)
        guard let text = fields[.lastModified], let changed = HTTPDate(text, now: zero),
            let made = fields[.date].flatMap({ HTTPDate($0, now: zero) }),
            made.secondsSince1970 - changed.secondsSince1970 >= 1
        else { return nil }
        self = .lastModified(text)
    }

    /// The value for `If-Range`.
    var text: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// Tags are compared character by character (RFC 9110, section 8.8.3.2), which are bytes there.
    static func == (one: StrongValidator, other: StrongValidator) -> Bool {
        switch (one, other) {
        case (.entityTag(let one), .entityTag(let other)), (.lastModified(let one), .lastModified(let other)):
            one.hasSameBytes(as: other)
        default: false
        }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Whether a part with these fields is of the same representation.
    func fits(partWith fields: HTTPFields) -> Bool {
        switch self {
        // A part has the tag that the whole has (RFC 9110, section 15.3.7).
        case .entityTag(let tag): fields[.eTag]?.hasSameBytes(as: tag) ?? false
        // The time need not be repeated.
        case .lastModified(let text): fields[.lastModified]?.hasSameBytes(as: text) ?? true
        }
    }

    /// `"…"` with characters that a tag may have (RFC 9110, section 8.8.3).
    private static func isStrong(_ tag: String) -> Bool {
        let bytes = tag.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { $0 >= 0x21 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
    }
}
