import Foundation
import Testing

/// Every code block of the README and of the articles is compiled: by the target `Snippets` of the package in `Examples`, or by the tests of
/// a page, which also run it.
struct SnippetTests {
    static let products = [
        "Trellis", "TrellisFoundation", "TrellisSignatures", "TrellisTesting", "TrellisTestTraits",
        "TrellisObservability",
        "TrellisService", "TrellisConfiguration",
    ]

    static let articles: [String] = {
        let paths = products.map { "Sources/\($0)/\($0).docc" }.flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(atPath: "\(SourceTree.root)/\(folder)")
            return (names ?? []).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        return ["README.md"] + paths.sorted()
    }()

    /// The lines of each file that has code of a page.
    static let code: [Set<String>] = {
        let pages = SourceTree.tests.filter { $0.path.split(separator: "/").last?.contains("Page") ?? false }
        return (SourceTree.files(in: "Examples/Sources/Snippets") + pages).map { Set(lines($0.text)) }
    }()

    /// Returns the lines without their indentation and their access level. Blank lines and the heads of suites, whose names and traits
    /// are those of the file, are left out.
    static func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n")
            .map { $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "private ", with: "") }
            .filter { !$0.isEmpty && !$0.hasPrefix("@Suite") && !$0.hasSuffix("Tests {") }
    }

    /// Returns the code blocks of an article, without those of a manifest and those that show another library.
    static func blocks(of article: String) -> [[String]] {
        let others = [
            ".package(", ".testTarget(", "// swift-tools-version", "// Alamofire", "// AsyncHTTPClient",
            "// URLSession",
        ]
        return article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { block in !others.contains { block.hasPrefix($0) } }.map(lines)
    }

    /// Returns the lines of an article that are not compiled. The lines of a block stand in one file.
    static func missing(_ article: String, in code: [Set<String>]) -> [String] {
        blocks(of: article).flatMap { block in
            code.map { known in block.filter { !known.contains($0) } }.min { $0.count < $1.count } ?? block
        }
    }

    @Test(arguments: articles)
    func theExamplesAreCompiled(_ path: String) throws {
        let text = try String(contentsOfFile: "\(SourceTree.root)/\(path)", encoding: .utf8)
        #expect(Self.missing(text, in: Self.code) == [])
    }

    @Test func theArticlesAreFound() throws {
        #expect(Self.articles.count > 50)
        #expect(Self.code.count > 40)
        let path = "\(SourceTree.root)/Sources/Trellis/Trellis.docc/Errors.md"
        #expect(Self.blocks(of: try String(contentsOfFile: path, encoding: .utf8)).joined().count > 20)
    }

    @Test func aLineThatIsNotCompiledIsFound() {
        let manifest = "```swift\n.package(path: \"x\")\n```\n"
        let article = "# A\n\n\(manifest)\n```swift\nlet a = 1\n    let b = 2\n```\n\nlet c = 3\n"
        #expect(Self.missing(article, in: [["let a = 1"]]) == ["let b = 2"])
        #expect(Self.missing(article, in: [["let a = 1"], ["let b = 2"]]).count == 1)
        #expect(Self.missing(article, in: [["let a = 1", "let b = 2"]]) == [])
    }
}
