import Testing

/// Text that comes from or goes to the wire is read and compared as bytes. Unicode's `lowercased()` makes a `k` of the kelvin sign, and a
/// `Character` joins a delimiter and the accent after it.
struct WireTextTests {
    private static let files = SourceTree.sources + SourceTree.files(in: "Examples/Sources")
    /// The keys of a form are words that the caller has spelled; an excerpt of a body and the headings of a manual are for people.
    private static let exceptions: Set<String> = [
        "Examples/Sources/TrellisCommand/Options/Manual.swift",
        "Sources/TrellisCore/Compose/Parameters/Form/URLEncodedFormEncoder+Keys.swift",
        "Sources/TrellisCore/Errors/TrellisError+BodyExcerpt.swift",
    ]

    @Test(arguments: [
        "lowercased", "uppercased", "capitalized", "caseInsensitiveCompare", "localizedCaseInsensitiveCompare",
        "Character", "isWhitespace", "isNewline", "isHexDigit", "hexDigitValue",
    ])
    func noTokenIsComparedAsUnicode(_ word: String) {
        let violations = Self.files.filter { !Self.exceptions.contains($0.path) }.flatMap { file in
            // A scalar has properties, a `Character` has none.
            zip(file.words, file.words.dropFirst()).filter { $1.text == word && $0.text != "properties" }
                .map { "\(file.path):\($1.line)" }
        }
        #expect(violations == [])
    }

    /// A literal is a `Character` where a text is split, and where the elements of a text are compared with it. The examples may split what
    /// they print.
    @Test func textIsReadByteByByte() {
        let files = SourceTree.sources + SourceTree.files(in: "Examples/Sources/Gateway")
        let violations = files.flatMap { file in
            file.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
                index, line -> String? in
                let splits = line.contains(#"split(separator: ""#)
                let compares = line.contains(#"$0 == " ""#) || line.contains(#"$0 != " ""#)
                return splits || compares && !line.contains("scalars") ? "\(file.path):\(index + 1)" : nil
            }
        }
        #expect(violations == [])
    }
}
