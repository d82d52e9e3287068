import Foundation
import Testing

/// Comments name things by their nouns.
struct CommentTests {
    /// A comment: adjacent lines that are comments and nothing else.
    struct Comment {
        let path: String
        let line: Int
        let text: String

        /// The words in lower case.
        var words: [String] { text.split { !$0.isLetter }.map { $0.lowercased() } }
    }

    static func comments(in path: String, _ text: String) -> [Comment] {
        var comments: [Comment] = []
        var isInside = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.drop { $0 == " " }
            guard trimmed.hasPrefix("//") else {
                isInside = false
                continue
            }
            let words = trimmed.drop { $0 == "/" }.drop { $0 == " " }
            if isInside, let last = comments.popLast() {
                comments.append(Comment(path: path, line: last.line, text: last.text + " " + words))
            } else {
                comments.append(Comment(path: path, line: index + 1, text: String(words)))
            }
            isInside = true
        }
        return comments
    }

    /// The words without which a comment breaks no rule. The regular expressions are slow.
    private static let suspicious = Set(
        """
        Who Whom Whose What Whoever Whatever Those Somebody Nobody Everybody Anybody Someone It They
        whoever somebody nobody everybody anybody those who
        value nil otherwise more ever now same anew use on up held back verdict judge judged hold holds goes
        """.split { $0.isWhitespace }.map { $0.lowercased() })

    /// Returns the rule that a comment breaks; `nil` if it breaks none.
    static func violation(_ comment: Comment) -> String? {
        guard comment.words.contains(where: { suspicious.contains($0) }) else { return nil }
        let subjects =
            #/^(?:- \w+: )?(?:Who|Whom|Whose|What|Whoever|Whatever|Those|Somebody|Nobody|Everybody|Anybody|Someone|It|They)\b/#
        if let subject = comment.text.firstMatch(of: subjects) { return "begins with \(subject.output)" }
        let words = #/\b(?:whoever|somebody|nobody|everybody|anybody|those who|who waits)\b/#.ignoresCase()
        if let word = comment.text.firstMatch(of: words) { return "says \(word.output)" }
        let phrases =
            #/A Boolean value:|`nil`:|: otherwise as|\b(?:once more|for ever|by now|all the same|anew|of no use|goes on|holds? up|held up|gives? back|verdict|judged?)\b/#
        if let phrase = comment.text.firstMatch(of: phrases) { return "says \(phrase.output)" }
        return nil
    }

    @Test(arguments: ["Sources", "Tests", "Examples/Sources", "Benchmarks/Sources"])
    func aCommentNamesItsSubject(_ folder: String) {
        let violations = SourceTree.files(in: folder).filter { !$0.path.contains("/.build") }
            .flatMap { Self.comments(in: $0.path, $0.text) }
            .compactMap { comment in
                Self.violation(comment).map { "\(comment.path):\(comment.line) \($0): \(comment.text.prefix(60))" }
            }
        #expect(violations.isEmpty, "\(violations.count):\n\(violations.prefix(80).joined(separator: "\n"))")
    }

    @Test(
        arguments: [
            ("/// What a step knows.", "begins with What"), ("/// Sends it.\n/// Nobody waits.", "says Nobody"),
            ("    // Those who wait go on.", "begins with Those"), ("/// Continuations to resume.", nil),
            ("/// Whatsoever.", nil), ("let text = \"// What\"", nil),
            ("/// - Throws: What `next` throws.", "begins with - Throws: What"),
            ("/// The deadline; `nil`: none.", "says `nil`:"), ("/// Sends it once more.", "says once more"),
        ] as [(String, String?)])
    func theRulesFindWhatBreaksThem(_ text: String, _ expected: String?) {
        let found = Self.comments(in: "", text).compactMap(Self.violation).first
        #expect(found == expected)
    }
}
