import Foundation

/// A Swift file of the package.
struct SourceFile: Sendable {
    /// The path from the package's folder, such as `Sources/Trellis/Compose/Request.swift`.
    let path: String
    let text: String
    /// The text without comments and without the contents of string literals.
    let code: String
    /// The identifiers and keywords of the code. A search for one of many words is far faster in them than with a regular expression.
    let words: [Word]

    /// A word of the code.
    struct Word: Sendable {
        let text: String
        let line: Int
        /// Indicates whether a dot is in front of the word.
        let isMember: Bool
    }

    init(path: String, text: String, code: String) {
        (self.path, self.text, self.code) = (path, text, code)
        words = Self.words(of: Array(code.utf8))
    }

    private static func words(of bytes: [UInt8]) -> [Word] {
        var (words, position, line): ([Word], Int, Int) = ([], 0, 1)
        while position < bytes.count {
            let start = position
            while position < bytes.count, isPartOfWord(bytes[position]) { position += 1 }
            if start < position {
                let text = String(decoding: bytes[start..<position], as: UTF8.self)
                words.append(Word(text: text, line: line, isMember: start > 0 && bytes[start - 1] == 46))
            } else {
                if bytes[position] == 10 { line += 1 }
                position += 1
            }
        }
        return words
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        byte >= 97 && byte <= 122 || byte >= 65 && byte <= 90 || byte >= 48 && byte <= 57 || byte == 95 || byte >= 128
    }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// Returns the numbers of the lines of code that contain a word.
    func lines(mentioning word: String) -> [Int] { words.filter { $0.text == word }.map(\.line) }
}

/// The files of the package, as they are on disk.
enum SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Returns every Swift file below a folder.
    static func files(in folder: String) -> [SourceFile] {
        let files =
            switch folder.prefix(while: { $0 != "/" }) {
            case "Sources": sources
            case "Tests": tests
            case "Examples": examples
            default: benchmarks
            }
        return files.filter { $0.path.hasPrefix("\(folder)/") }
    }

    private static func load(_ folder: String) -> [SourceFile] {
        let base = "\(root)/\(folder)"
        let names = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".swift") }.sorted().compactMap { name in
            guard let text = try? String(contentsOfFile: "\(base)/\(name)", encoding: .utf8) else { return nil }
            return SourceFile(path: "\(folder)/\(name)", text: text, code: withoutCommentsAndStrings(text))
        }
    }

    static let sources = load("Sources")
    static let tests = load("Tests")
    private static let examples = load("Examples/Sources")
    private static let benchmarks = load("Benchmarks/Sources")
    static let all = sources + tests

    /// Returns the names of the types that the code of a file declares at its top level.
    static func declaredTypes(in file: SourceFile) -> Set<String> {
        let pattern =
            /(?m)^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|final|indirect|fileprivate|private)\s+)*(?:struct|class|enum|actor|protocol|typealias)\s+([A-Z]\w*)/
        return Set(file.code.matches(of: pattern).map { String($0.output.1) })
    }

    /// Returns the names of the functions that the code of a file declares at its top level.
    static func declaredFunctions(in file: SourceFile) -> Set<String> {
        let pattern =
            /(?m)^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)*func\s+([A-Za-z]\w*)/
        return Set(file.code.matches(of: pattern).map { String($0.output.1) })
    }

    /// Returns the names of the members that the code of a file adds to types in extensions.
    static func extensionMembers(in file: SourceFile) -> Set<String> {
        var (names, isInExtension): (Set<String>, Bool) = ([], false)
        let member = /^    (?:[\w@()]+ )*(?:func|var|let|case) ([a-z]\w*)/
        for line in file.code.split(separator: "\n") {
            if line.hasPrefix("}") { isInExtension = false }
            if line.first?.isLetter == true { isInExtension = line.contains(#/^(?:\w+ )*extension\b/#) }
            if isInExtension, let match = line.firstMatch(of: member) { names.insert(String(match.output.1)) }
        }
        return names
    }

    /// Returns the names of the functions, variables and cases that the code of a file declares at any level.
    static func declaredNames(in file: SourceFile) -> Set<String> {
        Set(file.code.matches(of: /\b(?:func|var|let|case)\s+`?([a-z]\w*)/).map { String($0.output.1) })
    }

    /// Returns the text with blanks in place of comments and of the contents of string literals; interpolated code stays.
    static func withoutCommentsAndStrings(_ text: String) -> String {
        var scanner = CodeScanner(text)
        return scanner.run()
    }
}
