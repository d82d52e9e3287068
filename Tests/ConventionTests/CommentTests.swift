import Testing

/// A long comment of a public declaration is a page.
struct CommentTests {
    /// Returns the comments of public declarations with more words than 150, besides code, tables and lists of parameters. What is longer
    /// is a page.
    static func longComments(in file: SourceFile) -> [String] {
        var violations: [String] = []
        var (words, isCode, isList) = (0, false, false)
        for (index, line) in file.lines.enumerated() {
            let text = line.drop { $0 == " " }
            guard text.hasPrefix("///") else {
                if words > 150, text.contains("public ") {
                    violations.append("\(file.path):\(index + 1): \(words) words")
                }
                if !text.hasPrefix("@") { (words, isCode, isList) = (0, false, false) }
                continue
            }
            let content = text.dropFirst(3).drop { $0 == " " }
            if content.hasPrefix("```") {
                isCode.toggle()
                continue
            }
            if content.isEmpty { isList = false }
            if ["- Parameter", "- Throws:", "- Returns:"].contains(where: content.hasPrefix) { isList = true }
            if !isCode, !isList, !content.hasPrefix("|") { words += content.split(separator: " ").count }
        }
        return violations
    }

    @Test(arguments: DocumentationTests.products)
    func noCommentOfAPublicDeclarationIsAPage(_ folder: String) {
        #expect(SourceTree.files(in: folder).flatMap(Self.longComments) == [])
    }

    @Test func aLongCommentIsFound() {
        let words = Array(repeating: "/// a b c d e f g h i j\n", count: 16).joined()
        let code = "/// ```swift\n" + words + "/// ```\n"
        for (comment, isLong) in [(words, true), (code, false), ("/// - Throws: a\n" + words, false)] {
            let file = SourceFile(path: "x", text: comment + "public let a = 1\n", code: "")
            #expect(Self.longComments(in: file).isEmpty != isLong)
        }
    }
}
