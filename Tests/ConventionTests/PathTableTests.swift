import Foundation
import Testing

/// The tables of functions and files on the page about the life of a request name functions that exist in these files, and the page about
/// libcurl names files that exist. The table of HTTP/2's limits has the numbers of the code, and names tests that exist.
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
        #expect(files.count > 15)
        #expect(Set(files).subtracting(known).sorted() == [])
    }

    /// The page with the limits of an HTTP/2 connection.
    private static let limits = Result {
        try String(
            contentsOfFile: SourceTree.root + "/Sources/Trellis/Trellis.docc/ConnectionsAndLimits.md", encoding: .utf8)
    }

    /// Returns the tests that a page names, each with its suite.
    static func tests(in page: String) -> [(suite: String, test: String)] {
        page.matches(of: #/`(?<suite>\w+Tests)\.(?<test>\w+)`/#).map { (String($0.suite), String($0.test)) }
    }

    @Test func everyTestOfALimitExists() throws {
        let tests = Self.tests(in: try Self.limits.get())
        #expect(tests.count > 10)
        let missing = tests.filter { suite, test in
            !SourceTree.tests.contains {
                $0.path.hasSuffix("/\(suite).swift") && $0.text.contains("func \(test)(")
            }
        }
        #expect(missing.map { "\($0.suite).\($0.test)" } == [])
    }

    /// Returns the numbers of frames at once and in a second, in the order of the rows.
    static func allowances(in page: String) -> [[Int]] {
        page.matches(of: #/\n\|[^|\n]*\| (?<burst>[\d,]+) \| (?<rate>\d+) \|/#).map { row in
            [row.burst.filter { $0 != "," }, row.rate].compactMap { Int($0) }
        }
    }

    @Test func theLimitsAreThoseOfTheCode() throws {
        let path = SourceTree.root + "/Sources/CurlEngine/HTTP2/HTTP2Limits.swift"
        let code = try String(contentsOfFile: path, encoding: .utf8)
            .matches(of: #/HTTP2Allowance\(burst: (?<burst>[\d_]+), perSecond: (?<rate>\d+)\)/#)
            .map { row in [row.burst.filter { $0 != "_" }, row.rate].compactMap { Int($0) } }
        #expect(code.count == 7)
        #expect(Self.allowances(in: try Self.limits.get()) == code)
    }

    @Test func aRowIsRead() throws {
        let row = try #require(Self.rows(in: "| wait | `A.first(_:)`, `second()` | `Session/A.swift` |").first)
        #expect(row.functions == ["first", "second"] && row.file == "Session/A.swift")
        #expect(Self.tests(in: "| a | `ATests.b`, the same |").map(\.test) == ["b"])
        #expect(Self.allowances(in: "\n| PING | 1,024 | 16 | |\n| X | 8 for a head | | |\n") == [[1_024, 16]])
        #expect(Self.files(in: "| a | `B.swift` | `A.swift`, `a.c` |\n") == ["A.swift", "a.c"])
    }
}
