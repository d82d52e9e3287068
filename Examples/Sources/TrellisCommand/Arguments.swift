import ArgumentParser

/// The argument of `-H`: `Name: value`.
struct HeaderLine: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon > argument.startIndex else { return nil }
        name = String(argument[..<colon])
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        let value = argument[argument.index(after: colon)...].drop(while: isSpace)
        self.value = String(value.reversed().drop(while: isSpace).reversed())
    }
}

/// The argument of `-d`.
enum BodyArgument: ExpressibleByArgument {
    case text(String)
    case file(String)
    case standardInput

    init?(argument: String) {
        if argument == "@-" {
            self = .standardInput
        } else if argument.hasPrefix("@") {
            self = .file(String(argument.dropFirst()))
        } else {
            self = .text(argument)
        }
    }
}

/// The argument of `--form` and `--query`: `NAME=VALUE`. The name ends at the first equals sign and is not empty.
struct NamedValue: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else { return nil }
        name = String(argument[..<equals])
        value = String(argument[argument.index(after: equals)...])
    }
}
