import Testing

/// The comment of every public function that throws says what. docc checks the parameters.
struct ThrowsTests {
    /// The requirements of Swift's protocols, whose errors their callers do not tell apart, and adapters, whose protocol says what happens.
    private static let witnesses = ["init(from ", "encode(to ", "next(isolation ", "adapt("]
    /// The words of a comment that leaves its errors to another one.
    private static let references = ["- Throws:", "Everything else is as in", "as ``"]

    /// Returns the public functions that throw, and whose comments do not say what.
    static func silent(in file: SourceFile) -> [String] {
        let code = file.code.split(separator: "\n", omittingEmptySubsequences: false)
        return code.indices.compactMap { index in
            let line = code[index].drop { $0 == " " }
            guard line.contains("func ") || line.contains("init") else { return nil }
            guard
                DocumentationTests.isPublicDeclaration(line)
                    || DocumentationTests.isMemberOfPublicDeclaration(index, code)
            else { return nil }
            guard !witnesses.contains(where: line.contains), throwsErrors(code[index...]) else { return nil }
            let comment = comment(above: index, file.lines, code)
            return references.contains(where: comment.contains) ? nil : "\(file.path):\(index + 1): \(line)"
        }
    }

    /// Returns whether a declaration that begins with these lines has `throws` between its parameters and its result or its body.
    private static func throwsErrors(_ lines: ArraySlice<Substring>) -> Bool {
        var depth = 0
        var hasParameters = false
        for line in lines {
            var words = ""
            for character in line {
                if "([{".contains(character) { depth += 1 }
                if character == "{", depth == 1 { return words.contains("throws") }
                if ")]}".contains(character) { (depth, hasParameters) = (depth - 1, true) }
                if depth < 0 { return false }
                if depth == 0 { words.append(character) }
            }
            if words.contains(/\bthrows\b/) { return true }
            if hasParameters, depth == 0, words.contains("->") { return false }
            if hasParameters, depth == 0, !words.contains(/[,(]\s*$/), words.contains("func") || words.contains("init")
            {
                return false
            }
        }
        return false
    }

    private static func comment(above index: Int, _ lines: [Substring], _ code: [Substring]) -> String {
        var above = index - 1
        while above >= 0, code[above].contains(/^\s*@\w+/) { above -= 1 }
        let end = above
        while above >= 0, lines[above].contains("///") { above -= 1 }
        return above < end ? lines[(above + 1)...end].joined(separator: "\n") : ""
    }

    @Test(arguments: DocumentationTests.products)
    func everyThrowingFunctionSaysWhatItThrows(_ folder: String) {
        let violations = SourceTree.files(in: folder).flatMap(Self.silent)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(
        arguments: [
            ("public func a() throws {}", true), ("public func a() async throws(E) -> Int { 1 }", true),
            ("public func a(_ b: () throws -> Int) -> Int { 1 }", false), ("public func a() { b { throws } }", false),
            ("public func a(\n    b: Int\n) throws -> Int {\n    1\n}", true),
            ("public func a(\n    b: Int\n) -> Int {\n    try? c() throws\n}", false),
            ("public init(from decoder: any Decoder) throws {}", false), ("func a() throws {}", false),
            ("/// - Throws: B.\n@inlinable\npublic func a() throws {}", false),
        ] as [(String, Bool)])
    func whatThrowsIsFound(_ declaration: String, _ isFound: Bool) {
        let text = "/// A.\n" + declaration
        let file = SourceFile(path: "x", text: text, code: SourceTree.withoutCommentsAndStrings(text))
        #expect(Self.silent(in: file).isEmpty != isFound)
    }
}
