import Foundation
import Testing

/// The complete examples of the products' articles are those of the tests that compile and run them.
struct ArticleExampleTests {
    /// An article, and the file with its example.
    struct Example: Sendable {
        let article: String
        let file: String
    }

    static let examples = [
        Example(
            article: "Sources/TrellisFoundation/TrellisFoundation.docc/TrellisFoundation.md",
            file: "Tests/TrellisFoundationTests/TrellisFoundationPageTests.swift"),
        Example(
            article: "Sources/TrellisObservability/TrellisObservability.docc/TrellisObservability.md",
            file: "Tests/TrellisObservabilityTests/ObservabilityPageTests.swift"),
        Example(
            article: "Sources/TrellisTesting/TrellisTesting.docc/TrellisTesting.md",
            file: "Tests/TrellisTestingTests/TrellisTestingPageTests.swift"),
        Example(
            article: "Sources/TrellisTestTraits/TrellisTestTraits.docc/TrellisTestTraits.md",
            file: "Tests/TrellisTestTraitsTests/TrellisTestTraitsPageTests.swift"),
    ]

    /// Returns the lines of the code blocks that begin with an import, which are complete files, and of those with tests.
    static func completeExamples(in article: String) -> [String] {
        article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { $0.hasPrefix("import ") || $0.contains("@Test") }
            .flatMap { $0.components(separatedBy: "\n") }
    }

    /// Returns a line without its indentation and its access level; `nil` for a blank line, and for the head of a suite, whose name and
    /// traits are those of the file.
    static func essence(_ line: String) -> String? {
        let text = line.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "private ", with: "")
        guard !text.isEmpty, !text.hasPrefix("@Suite"), !text.hasSuffix("Tests {") else { return nil }
        return text
    }

    static func missing(_ article: String, in code: String) -> [String] {
        let known = Set(code.components(separatedBy: "\n").compactMap(essence))
        return completeExamples(in: article).compactMap(essence).filter { !known.contains($0) }
    }

    @Test(arguments: examples)
    func theExampleOfAnArticleIsCompiled(_ example: Example) throws {
        let article = try String(contentsOfFile: "\(SourceTree.root)/\(example.article)", encoding: .utf8)
        let code = try String(contentsOfFile: "\(SourceTree.root)/\(example.file)", encoding: .utf8)
        #expect(Self.completeExamples(in: article).count > 10)
        #expect(Self.missing(article, in: code) == [])
    }

    @Test func aLineThatIsNotCompiledIsFound() {
        let article = "# A\n\n```swift\nimport A\n\nlet a = 1\n    let b = 2\n```\n\n```swift\nlet c = 3\n```\n"
        #expect(Self.missing(article, in: "import A\nprivate let a = 1\n") == ["let b = 2"])
    }
}
