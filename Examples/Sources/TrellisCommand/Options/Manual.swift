import ArgumentParser
import CURLSyntax
import FoundationEssentials
import Trellis

/// The manual page of `--generate-manual`, in the macros of man(7). It says what `--help` says, with curl's names beside the tool's.
enum Manual {
    /// Returns the page.
    ///
    /// - Throws: A decoding error if the parser describes its options in another way.
    static func page() throws -> String {
        let request = try command(Options.self), others = try Subcommands.all.map(command)
        var lines = [
            ".TH TRELLIS 1 \"\" \"trellis \(TrellisRuntime.version)\" \"User Commands\"",
            ".SH NAME", "trellis \\- \(text(request.abstract ?? ""))", ".SH SYNOPSIS", ".nf",
        ]
        lines += Options.configuration.usage.map { $0.utf8Lines.map(line) } ?? []
        lines += [".fi", ".SH DESCRIPTION"] + paragraphs(request.discussion ?? "")
        lines += options(of: request, under: ".SH", besideCURLs: true) + [".SH CURL'S OPTIONS", line(furtherNames)]
        for other in others {
            lines += [".SH \(other.commandName.uppercased())", line(other.abstract ?? ""), ".PP"]
            lines += paragraphs(other.discussion ?? "") + options(of: other, under: ".SS")
        }
        lines.append(".SH ENVIRONMENT")
        for (name, effect) in variables { lines += [".TP", ".B \(text(name))", line(effect)] }
        lines += [".SH SEE ALSO", ".BR curl (1)"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The sentence about curl's options that have no entry.
    private static var furtherNames: String {
        let known = Set(names(of: Options.self).flatMap { [$0] + ArgumentTranslator.otherNames(of: $0) })
        let all = ArgumentTranslator.names(takingValue: false) + ArgumentTranslator.names(takingValue: true)
        // The parser has an option of its own for completions, which curl has not.
        let own = hidden + ["--generate-completion-script"]
        let further = all.filter { !known.contains($0) && !own.contains($0) }
        return "These do what they do in curl(1), or are accepted because it is so already: "
            + further.joined(separator: ", ") + "."
    }

    /// The names of the parser's options that have no entry.
    static let hidden = ["--help-hidden", "--experimental-dump-help"]

    private static let variables = [
        ("http_proxy, https_proxy, all_proxy, no_proxy", "The proxies, unless --proxy is given."),
        ("SSL_CERT_FILE", "The file of the authorities that are trusted."),
        ("SSLKEYLOGFILE", "The file for the secrets of TLS connections, for a network analyser."),
        ("NETRC, HOME", "The file of --netrc."),
        ("TMPDIR", "The folder in which the cookies of -c - are until they are printed; /tmp unless set."),
        ("NO_COLOR, TERM=dumb", "No colours."),
    ]

    // MARK: What the parser knows

    private struct Dump: Decodable { let command: Command }

    private struct Command: Decodable {
        let commandName: String
        let abstract: String?
        let discussion: String?
        let arguments: [Argument]
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            let name: String
            let kind: String
        }

        let kind: String
        let names: [Name]?
        let abstract: String?
        let valueName: String?
        let sectionTitle: String?
        let shouldDisplay: Bool
    }

    /// Returns the names of a command's options.
    static func names(of type: any ParsableCommand.Type) -> [String] {
        (try? command(type))?.arguments.flatMap(names) ?? []
    }

    private static func names(of option: Argument) -> [String] {
        (option.names ?? []).map { ($0.kind == "short" ? "-" : "--") + $0.name }
    }

    private static func command(_ type: any ParsableCommand.Type) throws -> Command {
        try JSONDecoder().decode(Dump.self, from: Data(type._dumpHelp().utf8)).command
    }

    /// Returns the options of a command, under the titles of `--help`.
    ///
    /// - Parameter besideCURLs: Indicates whether the command knows curl's names, which only that of a request does.
    private static func options(
        of command: Command, under heading: String, besideCURLs: Bool = false
    ) -> [String] {
        let shown = command.arguments.filter { $0.shouldDisplay && $0.kind != "positional" }
        var titles: [String] = []
        for title in shown.map({ $0.sectionTitle ?? "Options" }) where !titles.contains(title) { titles.append(title) }
        return titles.flatMap { title in
            let options = shown.filter { $0.sectionTitle ?? "Options" == title }
            return ["\(heading) \(heading == ".SH" ? title.uppercased() : title)"]
                + options.flatMap { entry($0, besideCURLs) }
        }
    }

    /// Returns the lines of an option: its names in bold, the kind of its value, and what it does.
    private static func entry(_ option: Argument, _ besideCURLs: Bool) -> [String] {
        var names = names(of: option)
        for name in names where besideCURLs {
            names += ArgumentTranslator.otherNames(of: name).filter { !names.contains($0) }
        }
        names.sort { $0.utf8.count == 2 && $1.utf8.count > 2 }
        let value = option.kind == "option" ? " \\fI\(text(option.valueName ?? "VALUE"))\\fR" : ""
        let bold = names.map { "\\fB\(text($0))\\fR" }.joined(separator: ", ")
        return [".TP", bold + value, line(option.abstract ?? "")]
    }

    // MARK: Text

    /// Returns a text in paragraphs; lines that begin with blanks are examples.
    private static func paragraphs(_ text: String) -> [String] {
        var lines: [String] = [], isExample = false
        for next in text.utf8Lines {
            let indents = next.utf8.starts(with: "  ".utf8)
            if indents != isExample, !next.isEmpty {
                lines += indents ? [".PP", ".nf", ".RS 4"] : [".RE", ".fi", ".PP"]
                isExample = indents
            }
            lines.append(next.isEmpty ? isExample ? "" : ".PP" : line(String(next.drop { $0 == " " })))
        }
        return lines + (isExample ? [".RE", ".fi"] : [])
    }

    /// Returns a line of text, which is no request of roff even if it begins as one.
    private static func line(_ line: String) -> String {
        let isRequest = line.utf8.first.map { ".'".utf8.contains($0) } ?? false
        return (isRequest ? "\\&" : "") + text(line)
    }

    /// Returns a text with its special characters escaped.
    private static func text(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\e"
            case "-": "\\-"
            case "'": "\\(aq"
            case "`": "\\(ga"
            case "^": "\\(ha"
            case "~": "\\(ti"
            case _ where !scalar.isASCII: "\\[u\(hexadecimal(scalar.value))]"
            default: String(scalar)
            }
        }.joined()
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension String {
    fileprivate var utf8Lines: [String] {
        utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
}
