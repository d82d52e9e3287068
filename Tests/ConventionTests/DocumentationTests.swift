import Testing

/// Every public declaration has a doc comment.
struct DocumentationTests {
    /// Returns the public declarations without a doc comment above them; attributes between the two are skipped.
    static func undocumented(in file: SourceFile) -> [String] {
        let code = file.code.split(separator: "\n", omittingEmptySubsequences: false)
        let lines = file.lines
        return code.indices.compactMap { index in
            let line = code[index].drop { $0 == " " }
            guard isPublicDeclaration(line) || isMemberOfPublicDeclaration(index, code) else { return nil }
            var above = index - 1
            while above >= 0, code[above].contains(/^\s*@\w+/) { above -= 1 }
            let isDocumented = above >= 0 && lines[above].contains("///")
            return isDocumented ? nil : "\(file.path):\(index + 1): \(line)"
        }
    }

    static func isPublicDeclaration(_ line: Substring) -> Bool {
        // The regular expressions are slow.
        guard line.hasPrefix("@") || line.hasPrefix("public") || line.hasPrefix("open") else { return false }
        guard line.contains(/^(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open)\b/) else { return false }
        return line.contains(/\b(?:var|let|func|init|struct|class|enum|actor|protocol|typealias|subscript)\b/)
    }

    /// The words with which members begin that have the access level of the declaration around them.
    private static let members = [
        "public protocol": ["func ", "var ", "static ", "init", "subscript", "associatedtype ", "mutating "],
        "public enum": ["case ", "indirect case "],
    ]

    /// Returns whether a line is a requirement of a public protocol or a case of a public enumeration, which have no access level of their
    /// own.
    static func isMemberOfPublicDeclaration(_ index: Int, _ code: [Substring]) -> Bool {
        guard code[index].utf8.first == UInt8(ascii: " ") else { return false }
        let line = code[index].drop { $0 == " " }
        for (declaration, beginnings) in members where beginnings.contains(where: { line.hasPrefix($0) }) {
            guard let opening = opening(of: index, code) else { continue }
            if code[opening].replacing("indirect ", with: "").contains(declaration) { return true }
        }
        return false
    }

    /// Returns the line that opens the declaration around a line: the last one before it that is indented less, without those that only
    /// open or close brackets.
    private static func opening(of index: Int, _ code: [Substring]) -> Int? {
        let indentation = code[index].prefix { $0 == " " }.count
        return code[..<index].lastIndex { line in
            let text = line.drop { $0 == " " }
            guard let first = text.first, line.count - text.count < indentation else { return false }
            return !"{})]#".contains(first)
        }
    }

    static let products = [
        "Sources/Trellis", "Sources/TrellisCaching", "Sources/TrellisCore", "Sources/TrellisDiagnostics",
        "Sources/TrellisDownloads", "Sources/TrellisEvents", "Sources/TrellisNameServices", "Sources/TrellisOAuth",
        "Sources/TrellisRedis", "Sources/TrellisSignatures",
        "Sources/TrellisUpgrades", "Sources/TrellisWebSockets", "Sources/TrellisFoundation", "Sources/TrellisTesting",
        "Sources/TrellisObservability",
        "Sources/TrellisService", "Sources/TrellisConfiguration", "Sources/TrellisTestTraits",
    ]

    @Test(arguments: products)
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

    /// Members without an access level of their own have that of the public declaration around them.
    @Test(
        arguments: [
            ("public enum A {\n    case b\n}", "case b"), ("public enum A {\n    /// B.\n    case b\n}", nil),
            ("    public indirect enum A {\n        case b\n    }", "case b"), ("enum A {\n    case b\n}", nil),
            ("public protocol A:\n    B\n{\n    static func c()\n}", "static func c()"),
            ("public protocol A {\n    /// C.\n    init(c: Int)\n    associatedtype D\n}", "associatedtype D"),
            (
                "public enum A {\n    /// B.\n    public var b: Int {\n        switch self {\n        case c: 1\n        }\n    }\n}",
                nil
            ),
        ] as [(String, String?)])
    func membersOfPublicDeclarationsAreFound(_ declaration: String, _ member: String?) {
        let text = "/// A.\n" + declaration
        let file = SourceFile(path: "x", text: text, code: SourceTree.withoutCommentsAndStrings(text))
        let found = Self.undocumented(in: file)
        #expect(found.count == (member == nil ? 0 : 1))
        #expect(found.allSatisfy { $0.hasSuffix(": \(member ?? "none")") }, "\(found)")
    }
}
