import ArgumentParser
import CURLSyntax
import Trellis

/// The argument of `-H`: `Name: value`, `Name:` for a field that is left out, or `Name;` for an empty one.
struct HeaderLine: Sendable {
    let name: String
    let value: String
    /// Whether the field is left out, which also holds for one that the tool would send by itself.
    var isRemoval: Bool { value.isEmpty && !isEmptyField }
    private let isEmptyField: Bool
    /// The reason why the argument is no field, if it is none. The parser's own message would show the secret in the argument.
    let failure: String?

    init(_ argument: String) {
        let colon = argument[...].cut(at: ":")
        isEmptyField = colon == nil && argument.utf8.last == UInt8(ascii: ";")
        let (name, value) = colon ?? (isEmptyField ? argument.dropLast() : "", "")
        if colon == nil, !isEmptyField {
            failure = "there is no colon in it, as in 'Name: value'"
        } else {
            failure =
                HTTPField.Name(String(name)) == nil ? "'\(name)' cannot be the name of a header field" : nil
        }
        self.name = String(name)
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = value.utf8.firstIndex { !isSpace($0) } ?? value.endIndex
        let end = value.utf8.lastIndex { !isSpace($0) }.map { value.utf8.index(after: $0) } ?? start
        self.value = String(value[start..<end])
    }
}

extension [HeaderLine] {
    /// Checks that each line is one.
    func validate() throws {
        if let failure = lazy.compactMap(\.failure).first { throw ValidationError("--header: \(failure)") }
    }
}

/// The argument of `-d`: a text, `@FILE`, or `@-` for standard input.
enum BodyArgument: ExpressibleByArgument {
    case text(String)
    case file(String)
    case standardInput

    init?(argument: String) {
        if let text = argument[...].after(Marker.literal) {
            self = .text(String(text))
            return
        }
        guard let path = argument[...].after("@") else {
            self = .text(argument)
            return
        }
        self = path == "-" ? .standardInput : .file(String(path))
    }
}

/// The argument of `--query`: `NAME=VALUE`, or text of a URL from `--url-query`.
enum QueryArgument: Sendable {
    case item(NamedValue)
    case text(String)

    init(_ argument: String) throws {
        self = try argument[...].after(Marker.literal).map { .text(String($0)) } ?? .item(NamedValue(argument))
    }
}

/// The argument of `--form` and `--query`: `NAME=VALUE`. The name ends at the first equals sign and is not empty.
struct NamedValue: Sendable {
    let name: String
    let value: String

    init(_ argument: String) throws {
        guard let (name, value) = argument[...].cut(at: "="), !name.isEmpty else {
            throw ValidationError("it does not have the form NAME=VALUE")
        }
        (self.name, self.value) = (String(name), String(value))
    }
}
