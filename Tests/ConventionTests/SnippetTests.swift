import Foundation
import Testing

/// The examples of some articles are those of the target that compiles them (`Examples/Sources/Snippets`).
struct SnippetTests {
    /// The articles all of whose lines of Swift are compiled, in the file of the same name.
    static let articles = ["Errors", "Streams"]

    static func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(SourceTree.root)/\(path)", encoding: .utf8)
    }

    /// Returns the lines without their indentation, and without blank ones.
    static func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Returns the lines in the code blocks of an article.
    static func examples(in article: String) -> [String] {
        article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }.flatMap(lines)
    }

    /// Returns the lines of an article that are not compiled.
    static func missing(_ article: String, in code: String) -> [String] {
        let known = Set(lines(code))
        return examples(in: article).filter { !known.contains($0) }
    }

    @Test(arguments: articles)
    func theExamplesAreCompiled(_ name: String) throws {
        let article = try Self.text(of: "Sources/Trellis/Trellis.docc/\(name).md")
        let code = try Self.text(of: "Examples/Sources/Snippets/\(name).swift")
        #expect(Self.examples(in: article).count > 10)
        #expect(Self.missing(article, in: code) == [])
    }

    @Test func aLineThatIsNotCompiledIsFound() {
        let article = "# A\n\n```swift\nlet a = 1\n    let b = 2\n```\n\nlet c = 3\n"
        #expect(Self.missing(article, in: "import A\n\nlet a = 1\n") == ["let b = 2"])
    }
}
