import Testing

/// Files are short enough to be read from beginning to end.
struct SizeTests {
    @Test func noFileIsLongerThan400Lines() {
        let violations = SourceTree.all.filter { $0.lines.count > 401 }.map { "\($0.path): \($0.lines.count - 1)" }
        #expect(violations == [])
    }

    @Test(arguments: ["Sources", "Tests"])
    func theMedianFileHasAtMost120Lines(_ folder: String) {
        let counts = SourceTree.files(in: folder).map { $0.lines.count - 1 }.sorted()
        #expect(counts[counts.count / 2] <= 120)
    }

    /// A line has at most 140 characters. The formatter limits code to 120, but does not change comments and tables of literals, which may
    /// have more.
    @Test func noLineIsLongerThan140Characters() {
        let violations = SourceTree.sources.flatMap { file in
            file.lines.enumerated().filter { $0.element.count > 140 }.map { "\(file.path):\($0.offset + 1)" }
        }
        #expect(violations == [])
    }
}
