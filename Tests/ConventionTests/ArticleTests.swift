import Foundation
import Testing

/// The framework's articles are short, and each stands in a section of the site. The generator of the site checks the same, and more.
struct ArticleTests {
    static let folder = "\(SourceTree.root)/Sources/Trellis/Trellis.docc"

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".md") && $0 != "Trellis.md" }.map { String($0.dropLast(3)) }.sorted()
    }()

    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(name).md", encoding: .utf8)
    }

    /// Returns the number of words outside code blocks and tables, which are looked up and not read.
    static func words(in article: String) -> Int {
        let prose = article.components(separatedBy: "```").enumerated().filter { $0.offset.isMultiple(of: 2) }
        let lines = prose.flatMap { $0.element.components(separatedBy: "\n") }.filter { !$0.hasPrefix("|") }
        return lines.map { $0.split(separator: " ").count }.reduce(0, +)
    }

    @Test(arguments: names)
    func anArticleIsShortAndInASection(_ name: String) throws {
        #expect(Self.words(in: try Self.text(name)) <= 1500)
        #expect(try Self.text("Trellis").contains("- <doc:\(name)>\n"))
    }

    /// Returns the entries of each group of topics in an article.
    static func topics(in article: String) -> [[String]] {
        let topics = article.components(separatedBy: "\n## Topics\n").dropFirst().joined()
        return topics.components(separatedBy: "\n### ").dropFirst().map { group in
            group.components(separatedBy: "\n").filter { $0.hasPrefix("- ") }
        }
    }

    /// A group has articles or symbols, and each of them once.
    @Test func aGroupOfTopicsIsOfOneKind() throws {
        let groups = Self.topics(in: try Self.text("Trellis"))
        #expect(groups.count > 20)
        for group in groups {
            #expect(Set(group).count == group.count, "\(group)")
            #expect(Set(group.map { $0.hasPrefix("- <doc:") }).count == 1, "\(group)")
        }
    }

    @Test func wordsOfProseAreCounted() {
        let article = "# A b\n\n| c | d |\n\n```swift\nlet e = 1\n```\n\n- f g\n"
        #expect(Self.words(in: article) == 6)
        #expect(Self.names.count > 20)
    }
}
