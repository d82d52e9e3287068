import CurlEngine

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
    init(parsing lines: [String]) {
        for element in lines.flatMap({ FieldScanner.elements(of: $0) }) { read(element) }
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

    private mutating func read(_ element: Substring) {
        var scanner = FieldScanner(element)
        guard !scanner.isAtEnd else { return }
        guard let name = scanner.token() else { return readWithoutQuotation(element) }
        var directive = Directive(name: name.lowercased())
        if scanner.take("=") {
            directive.argument = scanner.tokenOrQuoted()
            if directive.argument == nil { readWithoutQuotation(element) }
        }
        let hasArgument = directive.argument != nil
        scanner.skipSpace()
        directive.isWellFormed = scanner.isAtEnd && (hasArgument || !element.utf8.contains(UInt8(ascii: "=")))
        directives.append(directive)
    }

    /// Reads what is behind the first comma of a malformed element: a quotation mark without its counterpart hides no directive.
    private mutating func readWithoutQuotation(_ element: Substring) {
        for part in element.split(atByte: ",").dropFirst() { read(part) }
    }
}
