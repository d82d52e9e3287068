import Trellis

/// A check that bytes are a JSON text as defined by RFC 8259. `JSONDecoder` accepts more, such as a superfluous comma, and a report that
/// contains such a text would not be JSON.
struct JSONGrammar {
    /// An error in a text, with its position.
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    /// The limit of nesting, which Foundation's decoder and most others have too.
    private static let maximumDepth = 512

    private let bytes: [UInt8]
    private var position = 0
    /// The arrays and objects around the position, outermost first: `true` for an object.
    private var isObject: [Bool] = []

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Checks a text.
    ///
    /// - Throws: ``Mistake`` if the text is not JSON.
    static func check(_ text: some Sequence<UInt8>) throws(Mistake) {
        let bytes = Array(text)
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Mistake(description: "it is no UTF-8") }
        var grammar = JSONGrammar(bytes)
        try grammar.text()
    }

    /// Reads a value, and the commas and ends that follow in the arrays and objects around it.
    private mutating func text() throws(Mistake) {
        while true {
            if try !value() { continue }
            while let isObject = isObject.last {
                skipSpace()
                if take(UInt8(ascii: ",")) {
                    if isObject { try name() }
                    break
                }
                guard take(UInt8(ascii: isObject ? "}" : "]")) else { throw mistake("a comma or an end is missing") }
                self.isObject.removeLast()
            }
            if isObject.isEmpty { break }
        }
        skipSpace()
        guard position == bytes.count else { throw mistake("there is something after it") }
    }

    /// Reads a value, or the beginning of an array or object that contains others. Returns `false` for a beginning.
    private mutating func value() throws(Mistake) -> Bool {
        skipSpace()
        guard position < bytes.count else { throw mistake("it ends early") }
        switch bytes[position] {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try open()
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
        return true
    }

    private mutating func open() throws(Mistake) -> Bool {
        let isObject = bytes[position] == UInt8(ascii: "{")
        position += 1
        skipSpace()
        if take(UInt8(ascii: isObject ? "}" : "]")) { return true }
        guard self.isObject.count < Self.maximumDepth else { throw mistake("it is nested too deeply") }
        self.isObject.append(isObject)
        if isObject { try name() }
        return false
    }

    private mutating func name() throws(Mistake) {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { throw mistake("a name is missing") }
        try string()
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw mistake("a colon is missing") }
    }

    private mutating func string() throws(Mistake) {
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw mistake("a string holds a control character")
            default: break
            }
        }
        throw mistake("a string does not end")
    }

    private mutating func escape() throws(Mistake) {
        guard position < bytes.count else { throw mistake("a string does not end") }
        let byte = bytes[position]
        position += 1
        guard byte == UInt8(ascii: "u") else {
            guard #""\/bfnrt"#.utf8.contains(byte) else { throw mistake("an escape that is none") }
            return
        }
        for _ in 0..<4 {
            guard position < bytes.count, "0123456789abcdefABCDEF".utf8.contains(bytes[position]) else {
                throw mistake("an escape that is none")
            }
            position += 1
        }
    }

    private mutating func word(_ word: String) throws(Mistake) {
        guard bytes[position...].starts(with: word.utf8) else { throw mistake("it is no value") }
        position += word.utf8.count
    }

    private mutating func number() throws(Mistake) {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
    }

    private mutating func digits() throws(Mistake) {
        let start = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
        guard position > start else { throw mistake("it is no value") }
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private func mistake(_ reason: String) -> Mistake { Mistake(description: "\(reason) (at byte \(position))") }
}
