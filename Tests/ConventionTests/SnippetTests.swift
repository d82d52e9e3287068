import Foundation
import Testing

/// Every code block of the README and of the framework's articles is compiled, by the target `Snippets` of the package in `Examples`.
struct SnippetTests {
    /// The articles whose examples are tests, or are not compiled yet.
    static let exceptions = ["Cassettes", "ComingFromAlamofire", "Faults", "Testing"]

    static let articles: [String] = {
        let folders = ["Trellis", "TrellisService", "TrellisConfiguration"].map { "Sources/\($0)/\($0).docc" }
        let paths = folders.flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(atPath: "\(SourceTree.root)/\(folder)")
            return (names ?? []).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        return ["README.md"] + paths.filter { path in !exceptions.contains { path.hasSuffix("/\($0).md") } }.sorted()
    }()

    static let code = SourceTree.files(in: "Examples/Sources/Snippets").map(\.text).joined(separator: "\n")

    /// Returns the lines without their indentation, and without blank ones.
    static func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Returns the lines in the code blocks of an article, without the blocks of a manifest and those that show another library.
    static func examples(in article: String) -> [String] {
        let others = [".package(", "// swift-tools-version", "// Alamofire", "// AsyncHTTPClient", "// URLSession"]
        return article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { block in !others.contains { block.hasPrefix($0) } }.flatMap(lines)
    }

    /// Returns the lines of an article that are not compiled.
    static func missing(_ article: String, in code: String) -> [String] {
        let known = Set(lines(code))
        return examples(in: article).filter { !known.contains($0) }
    }

    @Test(arguments: articles)
    func theExamplesAreCompiled(_ path: String) throws {
        let text = try String(contentsOfFile: "\(SourceTree.root)/\(path)", encoding: .utf8)
        #expect(Self.missing(text, in: Self.code) == [])
    }

    @Test func theArticlesAreFound() throws {
        #expect(Self.articles.count > 20)
        let path = "\(SourceTree.root)/Sources/Trellis/Trellis.docc/Errors.md"
        #expect(Self.examples(in: try String(contentsOfFile: path, encoding: .utf8)).count > 20)
    }

    @Test func aLineThatIsNotCompiledIsFound() {
        let manifest = "```swift\n.package(path: \"x\")\n```\n"
        let article = "# A\n\n\(manifest)\n```swift\nlet a = 1\n    let b = 2\n```\n\nlet c = 3\n"
        #expect(Self.missing(article, in: "import A\n\nlet a = 1\n") == ["let b = 2"])
    }
}
