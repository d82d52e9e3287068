import FoundationEssentials

/// The translation of a command line into arguments that the tool's parser reads: curl's names become the tool's, glued options are
/// separated (`-XPOST`, `-sSL`), and each value stays with its option.
public struct ArgumentTranslator {
    /// The options so far, each as `--name` or `--name=value`.
    private var options: [String] = []
    private var positionals: [String] = []
    private var kept: [KeptOption: [String]] = [:]
    /// The number of files of `-K` that contain each other.
    private var depth = 0

    private init() {}

    /// Returns the arguments as the parser reads them.
    ///
    /// - Throws: ``UsageFailure`` for an unknown option, an option without its value, and a file that cannot be read.
    public static func translate(_ arguments: [String]) throws -> [String] {
        var translator = ArgumentTranslator()
        try translator.read(arguments)
        try translator.decideCookies()
        try translator.decideSpeed()
        translator.decideOutput()
        return translator.options + (translator.positionals.isEmpty ? [] : ["--"] + translator.positionals)
    }

    private mutating func read(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                positionals += rest
                return
            }
            if argument.utf8.starts(with: "--".utf8) {
                try readLong(argument, &rest)
            } else if argument.utf8.first == UInt8(ascii: "-"), argument != "-" {
                try readShort(argument, &rest)
            } else {
                positionals.append(argument)
            }
        }
    }

    /// Reads `--name`, `--name value` or `--name=value`.
    private mutating func readLong(_ argument: String, _ rest: inout ArraySlice<String>) throws {
        let mark = argument.utf8.firstIndex(of: UInt8(ascii: "="))
        let name = mark.map { String(argument[..<$0]) } ?? argument
        let glued = mark.map { String(argument[argument.utf8.index(after: $0)...]) }
        guard let option = OptionTable.option(name) else { throw Self.unknown(name) }
        guard option.takesValue else {
            guard glued == nil else { throw UsageFailure("'\(name)' takes no value.") }
            return try apply(option, "")
        }
        guard let value = glued ?? rest.popFirst() else { throw UsageFailure("Missing value for '\(name)'.") }
        try apply(option, value)
    }

    /// Reads short options after one dash. The last may have a value: `-sSL`, `-XPOST`, `-sX POST`.
    private mutating func readShort(_ argument: String, _ rest: inout ArraySlice<String>) throws {
        var letters = argument.unicodeScalars.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            guard let option = OptionTable.option(name) else {
                throw UsageFailure(
                    "Unknown option '\(letters.isEmpty && argument.unicodeScalars.count == 2 ? name : argument)'.")
            }
            guard option.takesValue else {
                try apply(option, "")
                continue
            }
            if !letters.isEmpty { return try apply(option, String(String.UnicodeScalarView(letters))) }
            guard let value = rest.popFirst() else { throw UsageFailure("Missing value for '\(name)'.") }
            return try apply(option, value)
        }
    }

    private mutating func apply(_ option: CommandOption, _ value: String) throws {
        switch option.meaning {
        case .usual: break
        // The parser would take the next argument for the value of `--name=`.
        case .own(let name) where option.takesValue && value.isEmpty: options += [name, ""]
        case .own(let name): options.append(option.takesValue ? "\(name)=\(value)" : name)
        case .kept(.command): try readCommand(value)
        case .kept(.configuration): try readConfiguration(value)
        case .kept(let option): kept[option, default: []].append(value)
        case .means(let arguments):
            for argument in try arguments(value) {
                if argument.utf8.first == 0 {
                    positionals.append(String(argument.dropFirst()))
                } else {
                    options.append(argument)
                }
            }
        }
    }

    /// Reads the arguments of a copied command, whose first word is the name of its program.
    private mutating func readCommand(_ command: String) throws {
        let words = try ShellWords.words(command)
        guard let program = words.first, program == "curl" || program.hasSuffix("/curl") else {
            throw UsageFailure("--from-curl: the command does not begin with curl.")
        }
        // curl reads standard input only for `@-`.
        options.append("--no-stdin")
        try read(Array(words.dropFirst()))
    }

    private mutating func readConfiguration(_ path: String) throws {
        guard depth < 8 else { throw UsageFailure("-K: the files contain each other.") }
        depth += 1
        for line in ConfigurationFile.arguments(in: try FormText.contents(of: path)) { try read(line) }
        depth -= 1
    }

    // MARK: What depends on several options

    /// Decides about `-b`: pairs are a field, and a text without `=` names a file. The empty text is no file, but cookies are kept for the
    /// redirects of the run.
    private mutating func decideCookies() throws {
        let pairs = (kept[.cookie] ?? []).filter { $0.utf8.contains(UInt8(ascii: "=")) }
        if !pairs.isEmpty { options.append("--header=Cookie: \(pairs.joined(separator: "; "))") }
        for file in kept[.cookie] ?? [] where !file.utf8.contains(UInt8(ascii: "=")) {
            options += file.isEmpty ? ["--cookie-file", ""] : ["--cookie-file=\(file)"]
        }
    }

    /// Decides about `-Y` and `-y`: a byte in as many seconds, which are 30 unless `-y` says otherwise. The tool's own option wins.
    private mutating func decideSpeed() throws {
        let limit = kept[.speedLimit]?.last
        guard limit ?? "1" == "1" else {
            throw UsageFailure("-Y takes 1 here: a transfer ends when -y seconds have brought no byte.")
        }
        guard let seconds = kept[.speedTime]?.last ?? limit.map({ _ in "30" }) else { return }
        options.insert("--idle-timeout=\(seconds)", at: 0)
    }

    /// Decides about `-o`, `-O`, `-J` and `--output-dir`: they name one place.
    private mutating func decideOutput() {
        let folder = kept[.outputFolder]?.last.map { $0.utf8.last == UInt8(ascii: "/") ? $0 : "\($0)/" } ?? ""
        let isAbsolute = kept[.output]?.last.map { $0.utf8.first == UInt8(ascii: "/") || $0 == "-" } ?? false
        if let output = kept[.output]?.last {
            options.append("--output=\(isAbsolute ? "" : folder)\(output)")
        } else if kept[.remoteName] != nil {
            let urls = CommandTarget(positionals).urls
            let name = urls.count == 1 && kept[.remoteHeaderName] == nil ? Self.lastComponent(of: urls[0]) : nil
            options.append("--output=\(folder.isEmpty ? "./" : folder)\(name ?? "")")
        }
    }

    /// Returns the last component of a URL's path, if there is one.
    private static func lastComponent(of url: String) -> String? {
        var rest = CommandTarget.completed(url)[...]
        if let end = rest.utf8.firstIndex(where: { "?#".utf8.contains($0) }) { rest = rest[..<end] }
        let parts = rest.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count > 3, let last = parts.last, !last.isEmpty else { return nil }
        let name = String(Substring(last))
        return name == "." || name == ".." ? nil : name
    }

    // MARK: Names

    /// Returns the names of all options, of the tool and of curl, that take a value, or that take none.
    public static func names(takingValue takesValue: Bool) -> [String] {
        OptionTable.options.filter { $0.takesValue == takesValue }.flatMap(\.names)
    }

    /// Returns the other names of an option, such as `-k` of `--insecure`.
    public static func otherNames(of name: String) -> [String] {
        OptionTable.options.filter { option in
            if case .own(name) = option.meaning { true } else { option.names.contains(name) }
        }.flatMap(\.names).filter { $0 != name }
    }

    // MARK: Suggestions

    /// Returns the failure about an unknown option, with the most similar one if there is one.
    private static func unknown(_ name: String) -> UsageFailure {
        let given = Array(name.dropFirst(2))
        let best = OptionTable.longNames.map { known -> (String, Double) in
            let known = Array(known.dropFirst(2)), all = given.count + known.count
            return (String(known), Double(all - given.difference(from: known).count) / Double(max(all, 1)))
        }.max { $0.1 < $1.1 }
        guard let best, best.1 >= 0.7 else { return UsageFailure("Unknown option '\(name)'.") }
        return UsageFailure("Unknown option '\(name)'. Did you mean '--\(best.0)'?")
    }
}
