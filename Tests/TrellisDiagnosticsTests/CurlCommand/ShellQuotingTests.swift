import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// Quoted words that a real shell reads back unchanged.
@Suite(.timeLimit(.minutes(3)))
struct ShellQuotingTests {
    @Test(arguments: [
        ("plain", "plain"), ("--data-binary", "--data-binary"), ("https://example.com/a", "https://example.com/a"),
        ("", "''"), ("two words", "'two words'"), ("it's", "'it'\\''s'"), ("a&b", "'a&b'"), ("$HOME", "'$HOME'"),
        ("~", "'~'"), ("a\nb", "'a\nb'"), ("ü", "'ü'"), ("a\0b", "'ab'"),
    ])
    func onlyWhatNeedsQuotesGetsThem(_ text: String, _ quoted: String) {
        #expect(ShellQuoting.quote(text) == quoted)
    }

    @Test(arguments: 0..<4)
    func theShellReadsWhatWasQuoted(_ seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("ab '\"\\$`!#&|;<>(){}[]*?~=%-\n\t\r\u{1}\u{7F}é\u{1F33F}").map { $0 }
        let words = (0..<200).map { _ in
            String(
                (0..<Int.random(in: 0..<12, using: &random)).compactMap { _ in alphabet.randomElement(using: &random) })
        }
        let output = await Shell.output(of: "printf '%s\\0' " + words.map(ShellQuoting.quote).joined(separator: " "))
        let read = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        #expect(read.map { String(decoding: $0, as: UTF8.self) } == words)
    }

    /// A quote is escaped also where a scalar joins the quote and forms one `Character` with it.
    @Test(arguments: JoiningScalars.all)
    func aQuoteIsQuotedWhateverJoinsIt(_ scalar: Unicode.Scalar) {
        #expect(ShellQuoting.quote("a'\(scalar); id #").bytes == "'a'\\''\(scalar); id #'".bytes)
        #expect(ShellQuoting.quote("a\0\(scalar)").bytes == "'a\(scalar)'".bytes)
    }

    @Test(arguments: 0..<8)
    func theShellReadsTheSameBytesOfAnyText(_ seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        let words = (0..<300).map { _ in
            JoiningScalars.text("'\"\\$`!#&|;<>(){}[]*?~=%-@\t\u{1}\u{7F} ", upTo: 12, using: &random)
        }
        let output = await Shell.output(of: "printf '%s\\0' " + words.map(ShellQuoting.quote).joined(separator: " "))
        let read = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        #expect(read.map { Array($0) } == words.map(\.bytes))
    }

    @Test func everyByteIsPrinted() async {
        let bytes = (0...255).map { UInt8($0) } + (0...255).reversed().map { UInt8($0) }
        #expect(await Shell.output(of: ShellQuoting.printing(bytes)) == bytes)
    }

    /// Digits after an octal escape, options and format directives are printed unchanged.
    @Test(arguments: ["\u{1}7", "\07", "-n", "--", "%s%d%%", "\\n", "\\101", "'", "", "a\nb"])
    func textIsPrintedAsItIs(_ text: String) async {
        let bytes = [UInt8](text.utf8)
        #expect(await Shell.output(of: ShellQuoting.printing(bytes)) == bytes)
    }

    @Test(arguments: 0..<4)
    func randomBytesArePrinted(_ seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        let bytes = (0..<30_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        // The script comes by the standard input: a text may be longer than an argument of the shell.
        let script = "sh <<'END'\n\(ShellQuoting.printing(bytes))\nEND"
        #expect(await Shell.output(of: script) == [UInt8](bytes))
    }
}
