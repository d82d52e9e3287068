import CurlEngine

extension Netrc {
    /// Creates the entries by parsing the text of a file.
    ///
    /// Tokens are separated by white space. A token in double quotes may contain white space and `\n`, `\r`, `\t`, `\"` and `\\`.
    /// A `#` at the beginning of a token begins a comment, to the end of the line. `account` is ignored, and so are macros, which
    /// end with an empty line.
    ///
    /// A value may stand on the line after its keyword. If a value is missing, readers differ in what they take for it: curl sends one
    /// machine's password, or the next keyword, to another machine. So a `#`, and a `machine` or `default` that begins a line, is an error
    /// instead of a value. A value that is one of these must be in double quotes.
    ///
    /// - Throws: ``AuthenticationError/malformedNetrc(line:)`` for quotes that do not end in their line, and for such a missing
    ///   value.
    public init(parsing text: String) throws(AuthenticationError) {
        var parser = NetrcParser()
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            try parser.read(line)
        }
        entries = parser.entries
    }
}

/// A parser of the text of a `.netrc` file, line by line.
private struct NetrcParser {
    /// The meaning of the next token.
    private enum Expectation { case keyword, machine, login, password, ignored, macro }

    private(set) var entries: [Netrc.Entry] = []
    private var expectation = Expectation.keyword
    /// Whether the lines belong to a macro, and are skipped.
    private var isInMacro = false
    private var lineNumber = 0

    mutating func read(_ line: Substring.UTF8View) throws(AuthenticationError) {
        lineNumber += 1
        var rest = line
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        if isInMacro {
            isInMacro = !rest.isEmpty
            return
        }
        var isAtStart = true
        while true {
            rest = rest.drop { $0 <= 0x20 }
            guard let first = rest.first else { return }
            if first == UInt8(ascii: "#") {
                guard expectation == .keyword else { throw .malformedNetrc(line: lineNumber) }
                return
            }
            if first == UInt8(ascii: "\"") {
                take(try quoted(&rest))
            } else {
                let token = Self.plain(&rest)
                if isAtStart, expectation != .keyword, Self.beginsEntry(token) {
                    throw .malformedNetrc(line: lineNumber)
                }
                take(token)
            }
            if isInMacro { return }
            isAtStart = false
        }
    }

    private static func beginsEntry(_ token: String) -> Bool {
        ["machine", "default"].contains(token.lowercasedASCII())
    }

    private static func plain(_ rest: inout Substring.UTF8View) -> String {
        let token = rest.prefix { $0 > 0x20 }
        rest = rest[token.endIndex...]
        return String(decoding: token, as: UTF8.self)
    }

    private func quoted(_ rest: inout Substring.UTF8View) throws(AuthenticationError) -> String {
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { break }
                bytes.append(Self.meaning(of: escaped))
            default: bytes.append(byte)
            }
        }
        throw .malformedNetrc(line: lineNumber)
    }

    private static func meaning(of escaped: UInt8) -> UInt8 {
        switch escaped {
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: escaped
        }
    }

    private mutating func take(_ token: String) {
        switch expectation {
        case .keyword: return begin(token.lowercasedASCII())
        case .machine: entries.append(Netrc.Entry(machine: token))
        case .login: change { $0.login = token }
        case .password: change { $0.password = token }
        case .ignored: break
        case .macro: isInMacro = true
        }
        expectation = .keyword
    }

    private mutating func begin(_ keyword: String) {
        switch keyword {
        case "machine": expectation = .machine
        case "default": entries.append(Netrc.Entry(machine: nil))
        case "login": expectation = .login
        case "password": expectation = .password
        case "account": expectation = .ignored
        case "macdef": expectation = .macro
        default: break
        }
    }

    private mutating func change(_ body: (inout Netrc.Entry) -> Void) {
        guard !entries.isEmpty else { return }
        body(&entries[entries.count - 1])
    }
}
