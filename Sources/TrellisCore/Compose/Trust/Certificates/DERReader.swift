/// A reader of values that are encoded as DER (X.690, section 10). Lengths are checked against the bytes that are left, so that no input
/// can make the reader leave its bytes.
struct DERReader {
    /// An encoding that is not DER, or not the expected value.
    struct Malformed: Error {}

    /// A value with its tag.
    struct Element {
        let tag: UInt8
        /// The bytes of the value.
        let content: ArraySlice<UInt8>
        /// The bytes of the tag, the length and the value.
        let encoding: ArraySlice<UInt8>

        /// The reader of the values inside.
        var reader: DERReader { DERReader(content) }
    }

    /// The tags of the values that certificates have (X.680, section 8.6).
    enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let objectIdentifier: UInt8 = 0x06
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Whether all values were read.
    var isAtEnd: Bool { rest.isEmpty }

    /// Returns whether the next value has the tag.
    func isNext(_ tag: UInt8) -> Bool { rest.first == tag }

    /// Reads the next value. Tags of several bytes, indefinite lengths and lengths in more bytes than necessary are malformed.
    mutating func next() throws(Malformed) -> Element {
        let whole = rest
        guard let tag = rest.popFirst(), tag & 0x1F != 0x1F, let first = rest.popFirst() else { throw Malformed() }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard 1...4 ~= count, rest.count >= count, rest.first != 0 else { throw Malformed() }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            guard length >= 0x80 else { throw Malformed() }
            rest = rest.dropFirst(count)
        }
        guard length <= rest.count else { throw Malformed() }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Element(tag: tag, content: content, encoding: whole.prefix(whole.count - rest.count))
    }

    /// Reads the next value, which must have the tag.
    mutating func next(_ tag: UInt8) throws(Malformed) -> Element {
        guard isNext(tag) else { throw Malformed() }
        return try next()
    }

    /// Reads the next value if it has the tag; `nil` if it has another one, or if there is none.
    mutating func nextIfPresent(_ tag: UInt8) throws(Malformed) -> Element? { isNext(tag) ? try next() : nil }

    /// Throws an error if there is a further value.
    func finish() throws(Malformed) {
        guard isAtEnd else { throw Malformed() }
    }
}
