import CurlEngine
import HTTPTypes
import TrellisCore

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

    /// The numbers of the directives that have one; ``invalid`` instead of a number that is not valid. The parts are not an array, because
    /// a list of directives is made for each response.
    private struct Numbers: Hashable, Sendable {
        var maxAge = CacheDirectives.invalid
        var sharedMaxAge = CacheDirectives.invalid
        var minFresh = CacheDirectives.invalid
        var maxStale = CacheDirectives.invalid
        var staleWhileRevalidate = CacheDirectives.invalid
        var staleIfError = CacheDirectives.invalid
    }

    private static let invalid = UInt32.max

    /// The directives that are present, each as a bit.
    private var present: UInt16 = 0
    /// The directives that are present without an argument, and follow the grammar, each as a bit.
    private var unqualified: UInt16 = 0
    /// Whether there are directives that a cache does not act upon.
    private var hasOthers = false
    private var numbers = Numbers()

    /// Creates an empty list.
    init() {}

    /// Reads the lines of a field.
    init(parsing lines: [String]) { for line in lines { read(line: line) } }

    /// Reads a line of the field.
    mutating func read(line: String) {
        let bytes = line.utf8.span
        if readPlain(bytes) { return }
        for element in FieldScanner.elements(of: line) { read(element) }
    }

    /// Reads a line that has only names in lower case, and tokens as arguments, as nearly all have. Returns `false` for any other line, of
    /// which nothing is read.
    mutating func readPlain(_ line: Span<UInt8>) -> Bool {
        var read = self
        var end = 0
        while true {
            while end < line.count, line[end] == 0x20 || line[end] == 0x09 || line[end] == 0x2C { end += 1 }
            guard end < line.count else {
                self = read
                return true
            }
            let start = end
            while end < line.count, 0x61...0x7A ~= line[end] || line[end] == 0x2D { end += 1 }
            guard end > start else { return false }
            let directive = CacheDirective.named(line.extracting(start..<end))
            let hasArgument = end < line.count && line[end] == UInt8(ascii: "=")
            var number = Self.invalid
            if hasArgument {
                end += 1
                let first = end
                while end < line.count, FieldScanner.isTokenByte(line[end]) { end += 1 }
                guard end > first else { return false }
                if let seconds = Self.deltaSeconds(line.extracting(first..<end)) { number = seconds }
            }
            while end < line.count, line[end] == 0x20 || line[end] == 0x09 { end += 1 }
            guard end == line.count || line[end] == 0x2C else { return false }
            read.add(directive, number, isUnqualified: !hasArgument)
        }
    }

    /// Returns the number of seconds that digits stand for, at most the largest one; zero without digits, `nil` for any other bytes.
    static func deltaSeconds(_ digits: Span<UInt8>) -> UInt32? {
        var number: Int64 = 0
        for index in digits.indices {
            guard 0x30...0x39 ~= digits[index] else { return nil }
            number = min(number * 10 + Int64(digits[index] - 0x30), Seconds.maximum)
        }
        return UInt32(number)
    }

    /// Whether there are no directives.
    var isEmpty: Bool { present == 0 && !hasOthers }

    /// Returns whether a directive is present, with or without an argument.
    func contains(_ directive: CacheDirective) -> Bool { present & directive.bit != 0 }

    /// Returns the argument of a directive in seconds.
    func seconds(_ directive: CacheDirective) -> Seconds {
        guard contains(directive) else { return .none }
        let number = number(of: directive)
        return number == Self.invalid ? .invalid : .value(Int64(number))
    }

    /// Returns whether a directive is present without an argument.
    func isUnqualified(_ directive: CacheDirective) -> Bool { unqualified & directive.bit != 0 }

    /// Adds a directive.
    ///
    /// - Parameters:
    ///   - name: The name, in lower case.
    ///   - isWellFormed: Whether the directive follows the grammar.
    mutating func add(_ name: String, _ argument: String? = nil, isWellFormed: Bool = true) {
        let bytes = name.utf8.span
        var number = Self.invalid
        if isWellFormed, let argument, let seconds = DeltaSeconds.parse(argument) {
            number = UInt32(min(seconds, Seconds.maximum))
        }
        add(CacheDirective.named(bytes), number, isUnqualified: argument == nil && isWellFormed)
    }

    /// Adds a directive; `nil` is one that a cache does not act upon.
    private mutating func add(_ directive: CacheDirective?, _ number: UInt32, isUnqualified: Bool) {
        guard let directive else {
            hasOthers = true
            return
        }
        // A number that contradicts another one is not valid.
        let isFirst = !contains(directive)
        setNumber(of: directive, to: isFirst || self.number(of: directive) == number ? number : Self.invalid)
        present |= directive.bit
        if isUnqualified { unqualified |= directive.bit }
    }

    private func number(of directive: CacheDirective) -> UInt32 {
        switch directive {
        case .maxAge: numbers.maxAge
        case .sharedMaxAge: numbers.sharedMaxAge
        case .minFresh: numbers.minFresh
        case .maxStale: numbers.maxStale
        case .staleWhileRevalidate: numbers.staleWhileRevalidate
        case .staleIfError: numbers.staleIfError
        case .noStore, .noCache, .onlyIfCached, .immutable, .private, .public, .mustRevalidate, .mustUnderstand,
            .proxyRevalidate:
            Self.invalid
        }
    }

    private mutating func setNumber(of directive: CacheDirective, to number: UInt32) {
        switch directive {
        case .maxAge: numbers.maxAge = number
        case .sharedMaxAge: numbers.sharedMaxAge = number
        case .minFresh: numbers.minFresh = number
        case .maxStale: numbers.maxStale = number
        case .staleWhileRevalidate: numbers.staleWhileRevalidate = number
        case .staleIfError: numbers.staleIfError = number
        case .noStore, .noCache, .onlyIfCached, .immutable, .private, .public, .mustRevalidate, .mustUnderstand,
            .proxyRevalidate:
            break
        }
    }

    private mutating func read(_ element: Substring) {
        var scanner = FieldScanner(element)
        guard !scanner.isAtEnd else { return }
        guard let name = scanner.token() else { return readWithoutQuotation(element) }
        let isAssigned = scanner.take("=")
        let argument = isAssigned ? scanner.tokenOrQuoted() : nil
        let hasArgument = argument != nil
        scanner.skipSpace()
        add(name.lowercasedASCII(), argument, isWellFormed: scanner.isAtEnd && hasArgument == isAssigned)
        if hasArgument == isAssigned {
            // A quotation mark after a name or an argument quotes nothing, and hides no directive either.
            if !scanner.isAtEnd { readWithoutQuotation(Self.rest(of: element, behind: name)) }
        } else {
            readWithoutQuotation(element)
        }
    }

    /// Returns the rest of an element after its name and its argument.
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

    /// Reads what is after the first comma of a malformed element: a quotation mark without its counterpart hides no directive.
    private mutating func readWithoutQuotation(_ element: Substring) {
        for part in element.split(atByte: ",").dropFirst() { read(part) }
    }
}
