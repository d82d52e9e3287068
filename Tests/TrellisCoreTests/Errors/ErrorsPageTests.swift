import Foundation
import Testing

@testable import TrellisCore

/// The tables of kinds in the article about errors agree with the errors.
struct ErrorsPageTests {
    /// A row of the tables: its kinds, and the cell about ``TrellisError/isRetryable``.
    struct Row {
        let kinds: [String]
        let again: String
    }

    /// Returns the rows of tables whose first cell names kinds.
    static func rows(in page: String) -> [Row] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| ``TrellisError/Kind/"), cells.count == 4 else { return nil }
            let kinds = cells[0].matches(of: #/``TrellisError\/Kind\/(?<name>\w+)``/#).map { String($0.name) }
            return Row(kinds: kinds, again: cells[2])
        }
    }

    private static func page() throws -> String {
        // The path of this file has four components below the root.
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        return try String(contentsOf: root.appending(path: "Sources/Trellis/Trellis.docc/Errors.md"), encoding: .utf8)
    }

    @Test func everyKindHasOneRow() throws {
        let kinds = Self.rows(in: try Self.page()).flatMap(\.kinds)
        #expect(kinds.sorted() == TrellisError.Kind.allCases.map { "\($0)" }.sorted())
    }

    /// A kind with the word "no" alone has no reason that is retryable. Other words occur only where there is one.
    @Test(arguments: TrellisError.Kind.allCases)
    func theColumnIsThatOfTheProperty(_ kind: TrellisError.Kind) throws {
        let row = try #require(Self.rows(in: try Self.page()).first { $0.kinds.contains("\(kind)") })
        let mayBeRetryable = TrellisErrorTests.rows.contains { $0.kind == kind && $0.isRetryable }
        #expect((row.again == "no") == !mayBeRetryable, "\(row.again)")
    }

    @Test func aRowIsRead() throws {
        let line = "| ``TrellisError/Kind/http2``, ``TrellisError/Kind/http3`` | when | yes; no | nothing |"
        let row = try #require(Self.rows(in: "| kind | when |\n\(line)\n").first)
        #expect(row.kinds == ["http2", "http3"] && row.again == "yes; no")
    }
}
