import Foundation
import Testing

/// The tables of functions and files on the page about the life of a request name functions that exist in these files, and the page about
/// libcurl names files that exist.
struct PathTableTests {
    /// A row of a table: its functions, without their arguments, and their file.
    struct Row {
        let functions: [String]
        let file: String
    }

    static func rows(in page: String) -> [Row] {
        page.split(separator: "\n").compactMap { line in
            guard let row = line.firstMatch(of: #/^\|[^|]*\|(?<functions>[^|]*)\| `(?<file>[^`]+\.swift)` \|$/#) else {
                return nil
            }
            let functions = row.functions.matches(of: #/`(?:\w+\.)?(?<name>\w+)\(/#).map { String($0.name) }
            return Row(functions: functions, file: String(row.file))
        }
    }

    @Test func everyFunctionIsInItsFile() throws {
        let page = try String(
            contentsOfFile: SourceTree.root + "/Sources/Trellis/Trellis.docc/LifeOfARequest.md", encoding: .utf8)
        let rows = Self.rows(in: page)
        #expect(rows.count > 20)
        var missing: [String] = []
        for row in rows {
            let text = try String(contentsOfFile: SourceTree.root + "/Sources/TrellisCore/" + row.file, encoding: .utf8)
            missing += row.functions.filter { !text.contains("func \($0)(") }.map { "\($0) in \(row.file)" }
        }
        #expect(missing.isEmpty, "\(missing)")
    }

    /// Returns the names of files in the last column of the tables of a page.
    static func files(in page: String) -> [String] {
        page.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { $0.split(separator: "|").last }
            .flatMap { $0.matches(of: #/`(?<file>[^`]+\.(?:swift|c))`/#).map { String($0.file) } }
    }

    @Test func everyFileAboutLibcurlExists() throws {
        let page = try String(
            contentsOfFile: SourceTree.root + "/Sources/Trellis/Trellis.docc/LibcurlFacts.md", encoding: .utf8)
        let known = ["CurlEngine", "CCurl"].flatMap { folder in
            FileManager.default.enumerator(atPath: "\(SourceTree.root)/Sources/\(folder)")?
                .compactMap { ($0 as? String)?.split(separator: "/").last.map(String.init) } ?? []
        }
        let files = Self.files(in: page)
        #expect(files.count > 40)
        #expect(Set(files).subtracting(known).sorted() == [])
    }

    @Test func aRowIsRead() throws {
        let row = try #require(Self.rows(in: "| wait | `A.first(_:)`, `second()` | `Session/A.swift` |").first)
        #expect(row.functions == ["first", "second"] && row.file == "Session/A.swift")
        #expect(Self.files(in: "| a | `B.swift` | `A.swift`, `a.c` |\n") == ["A.swift", "a.c"])
    }
}
