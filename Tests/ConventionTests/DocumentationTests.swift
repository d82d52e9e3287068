import Testing

/// Every public declaration has a doc comment.
struct DocumentationTests {
    /// Returns the public declarations without a doc comment above them; attributes between the two are skipped.
    static func undocumented(in file: SourceFile) -> [String] {
        let code = file.code.split(separator: "\n", omittingEmptySubsequences: false)
        let lines = file.lines
        return code.indices.compactMap { index in
            let line = code[index].drop { $0 == " " }
            guard isPublicDeclaration(line) || isRequirementOfPublicProtocol(index, code) else { return nil }
            var above = index - 1
            while above >= 0, code[above].contains(/^\s*@\w+/) { above -= 1 }
            let isDocumented = above >= 0 && lines[above].contains("///")
            return isDocumented ? nil : "\(file.path):\(index + 1): \(line)"
        }
    }

    private static func isPublicDeclaration(_ line: Substring) -> Bool {
        // The regular expressions are slow.
        guard line.hasPrefix("@") || line.hasPrefix("public") || line.hasPrefix("open") else { return false }
        guard line.contains(/^(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open)\b/) else { return false }
        return line.contains(/\b(?:var|let|func|init|struct|class|enum|actor|protocol|typealias|subscript)\b/)
    }

    /// Returns whether a line is a requirement of a public protocol, because requirements have no access level of their own. Cases are not
    /// checked, because a group of cases may have one comment.
    private static func isRequirementOfPublicProtocol(_ index: Int, _ code: [Substring]) -> Bool {
        let line = code[index]
        guard line.hasPrefix("    func ") || line.hasPrefix("    var "), let opening = opening(of: index, code) else {
            return false
        }
        return code[opening].contains(/^public protocol\b/)
    }

    /// Returns the line that opens the top-level declaration around a line.
    private static func opening(of index: Int, _ code: [Substring]) -> Int? {
        code[..<index].lastIndex { !$0.isEmpty && !$0.hasPrefix(" ") && !$0.hasPrefix("}") }
    }

    @Test(arguments: [
        "Sources/Trellis", "Sources/TrellisFoundation", "Sources/TrellisTesting", "Sources/TrellisObservability",
        "Sources/TrellisService", "Sources/TrellisConfiguration", "Sources/TrellisTestTraits",
    ])
    func everyPublicDeclarationHasAComment(_ folder: String) {
        let violations = SourceTree.files(in: folder).flatMap(Self.undocumented)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func theRuleFindsWhatHasNone() {
        let text =
            "/// A.\npublic struct A {\n    public let b: Int\n    /// C.\n    @inlinable\n    public func c() {}\n}\n"
        let file = SourceFile(path: "x", text: text, code: SourceTree.withoutCommentsAndStrings(text))
        #expect(Self.undocumented(in: file) == ["x:3: public let b: Int"])
    }
}
