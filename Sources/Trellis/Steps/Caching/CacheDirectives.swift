import CurlEngine
import HTTPTypes

/// The directives of a `Cache-Control` field (RFC 9111, section 5.2).
///
/// Names are compared in any case, and arguments may be tokens or quoted strings. The number of a directive that is malformed, or that
/// contradicts another one of the same directive, is ``Seconds/invalid``, for which each use has the stricter reading.
struct CacheDirectives: Hashable, Sendable {
    /// The argument of a directive in seconds.
    enum Seconds: Hashable, Sendable {
        /// The directive is not present.
        case none
        /// The argument is missing, is not a number, or contradicts another one.
        case invalid
        /// The number, at most ``maximum``.
        case value(Int64)

        /// The largest number of seconds; a larger one counts as this one (RFC 9111, section 1.2.2).
        static let maximum: Int64 = 1 << 31

        /// The number; `nil` without a valid one.
        var number: Int64? { if case .value(let number) = self { number } else { nil } }
    }

    /// A directive with its argument.
    private struct Directive: Hashable, Sendable {
        /// The name, in lower case.
        let name: String
        /// The argument without quotation marks; `nil` without one.
        var argument: String?
        /// Indicates whether the directive follows the grammar.
        var isWellFormed = true
    }

    private var directives: [Directive] = []

    /// Creates an empty list.
    init() {}

    /// Reads the lines of a field.
    init(parsing lines: [String]) { for line in lines { read(line: line) } }

    /// Reads a line of the field.
    mutating func read(line: String) {
        if readPlain(line) { return }
        for element in FieldScanner.elements(of: line) { read(element) }
    }

    /// Indicates whether there are no directives.
    var isEmpty: Bool { directives.isEmpty }

    /// Returns whether a directive is present, with or without an argument.
    func contains(_ name: String) -> Bool { directives.contains { $0.name.hasSameBytes(as: name) } }

    /// Returns the argument of a directive in seconds.
    func seconds(_ name: String) -> Seconds {
        var result = Seconds.none
        for directive in directives where directive.name.hasSameBytes(as: name) {
            let number = directive.isWellFormed ? directive.argument.flatMap { DeltaSeconds.parse($0) } : nil
            let seconds = number.map { Seconds.value(min($0, Seconds.maximum)) } ?? .invalid
            result = result == .none || result == seconds ? seconds : .invalid
        }
        return result
    }

    /// Returns whether a directive is present without an argument.
    func isUnqualified(_ name: String) -> Bool {
        directives.contains { $0.name.hasSameBytes(as: name) && $0.argument == nil && $0.isWellFormed }
    }

    /// Adds a directive.
    mutating func add(_ name: String, _ argument: String? = nil) {
        directives.append(Directive(name: name, argument: argument))
    }

    /// Reads a line that has only names in lower case, and tokens as arguments, as nearly all have. Returns `false` for any other line, of
    /// which nothing is read.
    private mutating func readPlain(_ line: String) -> Bool {
        let bytes = line.utf8.span
        let count = directives.count
        var end = 0
        // The bytes are ASCII.
        func text(from start: Int) -> String {
            guard let text = try? UTF8Span(validating: bytes.extracting(start..<end)) else { return "" }
            return String(copying: text)
        }
        while true {
            while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 || bytes[end] == 0x2C { end += 1 }
            guard end < bytes.count else { return true }
            var start = end
            while end < bytes.count, 0x61...0x7A ~= bytes[end] || bytes[end] == 0x2D { end += 1 }
            var isPlain = end > start
            var directive = Directive(name: text(from: start))
            if end < bytes.count, bytes[end] == UInt8(ascii: "=") {
                end += 1
                start = end
                while end < bytes.count, FieldScanner.isTokenByte(bytes[end]) { end += 1 }
                isPlain = isPlain && end > start
                directive.argument = text(from: start)
            }
            while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 { end += 1 }
            guard isPlain, end == bytes.count || bytes[end] == 0x2C else {
                directives.removeSubrange(count...)
                return false
            }
            directives.append(directive)
        }
    }

    private mutating func read(_ element: Substring) {
        var scanner = FieldScanner(element)
        guard !scanner.isAtEnd else { return }
        guard let name = scanner.token() else { return readWithoutQuotation(element) }
        var directive = Directive(name: name.lowercased())
        let isAssigned = scanner.take("=")
        if isAssigned { directive.argument = scanner.tokenOrQuoted() }
        let hasArgument = directive.argument != nil
        scanner.skipSpace()
        directive.isWellFormed = scanner.isAtEnd && hasArgument == isAssigned
        directives.append(directive)
        if hasArgument == isAssigned {
            // A quotation mark behind a name or an argument quotes nothing, and hides no directive either.
            if !scanner.isAtEnd { readWithoutQuotation(Self.rest(of: element, behind: name)) }
        } else {
            readWithoutQuotation(element)
        }
    }

    /// Returns the rest of an element behind its name and its argument.
    private static func rest(of element: Substring, behind name: String) -> Substring {
        var rest = element.utf8.drop { $0 == 0x20 || $0 == 0x09 }.dropFirst(name.utf8.count)
        guard rest.first == UInt8(ascii: "=") else { return Substring(rest) }
        rest = rest.dropFirst()
        guard rest.first == UInt8(ascii: "\"") else { return Substring(rest.drop { FieldScanner.isTokenByte($0) }) }
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") { _ = rest.popFirst() }
        }
        return Substring(rest)
    }

    /// Reads what is behind the first comma of a malformed element: a quotation mark without its counterpart hides no directive.
    private mutating func readWithoutQuotation(_ element: Substring) {
        for part in element.split(atByte: ",").dropFirst() { read(part) }
    }
}
