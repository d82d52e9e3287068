import Foundation
import Testing

/// The examples of some articles are those of the target that compiles them (`Examples/Sources/Snippets`).
struct SnippetTests {
    /// An article all of whose lines of Swift are compiled, but for those of a package's manifest.
    struct Article: Sendable {
        /// The name of the file that compiles them.
        let name: String
        let path: String
        /// The names of further files that compile them.
        let others: [String]
        /// The least number of lines of Swift in the article, so that a change of its form is noticed.
        let lineCount: Int

        /// Creates an article of the framework, which has the name of its file unless a path is given.
        init(_ name: String, _ path: String? = nil, others: [String] = [], lineCount: Int = 11) {
            (self.name, self.others, self.lineCount) = (name, others, lineCount)
            self.path = path ?? "\(Self.folder)/\(name).md"
        }

        static let folder = "Sources/Trellis/Trellis.docc"
    }

    static let articles = [
        Article("Caching", others: ["RecordStorage"]), Article("Errors"), Article("Streams"), Article("Trellis"),
        Article("Signing", lineCount: 16), Article("GettingStarted"), Article("Conversations"), Article("Downloads"),
        Article("RoutesAndTrust"), Article("Uploads", lineCount: 22),
        Article("Routes", "\(Article.folder)/Proxies.md", lineCount: 8),
        Article("Routes", "\(Article.folder)/NamesAndAddresses.md", lineCount: 9),
        Article("Routes", "\(Article.folder)/Reachability.md", lineCount: 4),
        Article("Services", "Sources/TrellisService/TrellisService.docc/TrellisService.md"),
        Article("Configuration", "Sources/TrellisConfiguration/TrellisConfiguration.docc/TrellisConfiguration.md"),
    ]

    static func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(SourceTree.root)/\(path)", encoding: .utf8)
    }

    /// Returns the lines without their indentation, and without blank ones.
    static func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Returns the lines in the code blocks of an article, without those of the blocks that are a dependency in a manifest.
    static func examples(in article: String) -> [String] {
        article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { !$0.hasPrefix(".package(") }.flatMap(lines)
    }

    /// Returns the lines of an article that are not compiled.
    static func missing(_ article: String, in code: String) -> [String] {
        let known = Set(lines(code))
        return examples(in: article).filter { !known.contains($0) }
    }

    @Test(arguments: articles)
    func theExamplesAreCompiled(_ article: Article) throws {
        let text = try Self.text(of: article.path)
        let code = try ([article.name] + article.others)
            .map { try Self.text(of: "Examples/Sources/Snippets/\($0).swift") }.joined(separator: "\n")
        #expect(Self.examples(in: text).count >= article.lineCount)
        #expect(Self.missing(text, in: code) == [])
    }

    @Test func aLineThatIsNotCompiledIsFound() {
        let manifest = "```swift\n.package(path: \"x\")\n```\n"
        let article = "# A\n\n\(manifest)\n```swift\nlet a = 1\n    let b = 2\n```\n\nlet c = 3\n"
        #expect(Self.missing(article, in: "import A\n\nlet a = 1\n") == ["let b = 2"])
    }
}
