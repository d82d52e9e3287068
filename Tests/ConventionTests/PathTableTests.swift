import Foundation
import Testing

/// The tables of functions and files on the page about the life of a request name functions that exist in these files.
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
            let text = try String(contentsOfFile: SourceTree.root + "/Sources/Trellis/" + row.file, encoding: .utf8)
            missing += row.functions.filter { !text.contains("func \($0)(") }.map { "\($0) in \(row.file)" }
        }
        #expect(missing.isEmpty, "\(missing)")
    }

    @Test func aRowIsRead() throws {
        let row = try #require(Self.rows(in: "| wait | `A.first(_:)`, `second()` | `Session/A.swift` |").first)
        #expect(row.functions == ["first", "second"] && row.file == "Session/A.swift")
    }
}
