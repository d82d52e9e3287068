import Foundation
import Testing

/// What a release says about itself is the same everywhere: its version, and the address of the repository.
struct ReleaseTests {
    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(SourceTree.root)/\(path)", encoding: .utf8)
    }

    /// The version in `TrellisRuntime`.
    static func version() throws -> String {
        let source = try text("Sources/TrellisCore/Session/Preparation/UserAgent.swift")
        return try #require(source.firstMatch(of: /let version = "([0-9.]+)"/)).output.1.description
    }

    /// The address of the repository, which its owner sets with `.scripts/repository.sh`.
    static func address() throws -> String {
        try text(".github/repository").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// All pages of the repository. The other folders with a dot are those of builds.
    static let pages: [String] = ["", "/.github"].flatMap { folder in
        let files = FileManager.default.enumerator(
            at: URL(filePath: "\(SourceTree.root)\(folder)"), includingPropertiesForKeys: nil,
            options: .skipsHiddenFiles)
        return files?.compactMap { ($0 as? URL)?.path } ?? []
    }.filter { $0.hasSuffix(".md") }

    /// Returns the arguments of the dependencies on a package by an address, in a text.
    static func dependencies(in text: String) -> [(address: String, version: String)] {
        text.matches(of: /\.package\(\s*url: "([^"]*)"(?:, from: "([^"]*)")?/)
            .map { (String($0.output.1), String($0.output.2 ?? "")) }
            .filter { $0.address.hasSuffix("/trellis") || $0.address.hasSuffix("/trellis.git") }
    }

    /// The first release in the changelog is the version, after a section for what is not released yet.
    @Test func theChangelogBeginsWithThisVersion() throws {
        let version = try Self.version()
        let headings = try Self.text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
        #expect(headings.first == "## Unreleased")
        #expect(headings.dropFirst().first?.hasPrefix("## \(version) (") == true)
        #expect(headings.dropFirst().allSatisfy { $0.wholeMatch(of: /## \d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)/) != nil })
    }

    @Test func thePagesNameThisVersionAndTheAddress() throws {
        let (version, address) = try (Self.version(), Self.address())
        var count = 0
        for page in Self.pages {
            for dependency in Self.dependencies(in: try String(contentsOfFile: page, encoding: .utf8)) {
                count += 1
                #expect(dependency.address == address, "\(page)")
                #expect(dependency.version == version, "\(page)")
            }
        }
        #expect(count > 0)
    }

    /// Outputs on the pages show the agent of this version. The changelog names those of earlier ones, too.
    @Test func thePagesShowTheAgentOfThisVersion() throws {
        let version = try Self.version()
        var count = 0
        for page in Self.pages where !page.hasSuffix("/CHANGELOG.md") {
            let text = try String(contentsOfFile: page, encoding: .utf8)
            for agent in text.matches(of: /Trellis\/(\d+\.\d+\.\d+)/) {
                count += 1
                #expect(agent.output.1 == version, "\(page)")
            }
        }
        #expect(count > 0)
    }

    @Test func anotherAddressIsFound() {
        let text =
            #".package(url: "https://a/trellis", from: "1.0.0")  .package(url: "https://b/other", from: "1.0.0")"#
        #expect(Self.dependencies(in: text).map(\.address) == ["https://a/trellis"])
    }
}
