import Foundation

/// A Swift file of the package.
struct SourceFile: Sendable {
    /// The path from the package's folder, such as `Sources/TrellisCore/Compose/Request.swift`.
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
        /// The number of blanks with which the word's line begins.
        let indentation: Int
        /// The byte before the word; a line end at the beginning of the file.
        let before: UInt8
        /// The byte after the word; a line end at the end of the file.
        let after: UInt8

        /// Whether a dot is in front of the word.
        var isMember: Bool { before == UInt8(ascii: ".") }
    }

    init(path: String, text: String, code: String) {
        (self.path, self.text, self.code) = (path, text, code)
        words = Self.words(of: Array(code.utf8))
    }

    private static func words(of bytes: [UInt8]) -> [Word] {
        let (lineEnd, blank) = (UInt8(ascii: "\n"), UInt8(ascii: " "))
        var words: [Word] = []
        var (position, line, lineStart, indentation) = (0, 1, 0, 0)
        while position < bytes.count {
            let start = position
            while position < bytes.count, isPartOfWord(bytes[position]) { position += 1 }
            if start < position {
                words.append(
                    Word(
                        text: String(decoding: bytes[start..<position], as: UTF8.self), line: line,
                        indentation: indentation, before: start > 0 ? bytes[start - 1] : lineEnd,
                        after: position < bytes.count ? bytes[position] : lineEnd))
                continue
            }
            switch bytes[position] {
            case lineEnd: (line, lineStart, indentation) = (line + 1, position + 1, 0)
            case blank where position == lineStart + indentation: indentation += 1
            default: break
            }
            position += 1
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

    /// Returns the names of the types that the code of a file declares: at its top level, or with an indentation of 4 in other types.
    static func declaredTypes(in file: SourceFile, indentedBy indentation: Int = 0) -> Set<String> {
        let keywords: Set<String> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
        return Set(lines(of: file, indentedBy: indentation).compactMap { name(in: $0, after: keywords) })
    }

    /// Returns the names of the functions that the code of a file declares at its top level.
    static func declaredFunctions(in file: SourceFile) -> Set<String> {
        Set(lines(of: file, indentedBy: 0).compactMap { name(in: $0, after: ["func"]) })
    }

    /// Returns the names of the members that the code of a file adds to types in extensions.
    static func extensionMembers(in file: SourceFile) -> Set<String> {
        var (names, isInExtension): (Set<String>, Bool) = ([], false)
        for line in lines(of: file) {
            if line.first?.indentation == 0 { isInExtension = line.contains { $0.text == "extension" } }
            if isInExtension, line.first?.indentation == 4, let name = name(in: line, after: memberKeywords) {
                names.insert(name)
            }
        }
        return names
    }

    /// Returns the names of the functions, variables and cases that the code of a file declares at any level.
    static func declaredNames(in file: SourceFile) -> Set<String> {
        Set(zip(file.words, file.words.dropFirst()).filter { memberKeywords.contains($0.0.text) }.map(\.1.text))
    }

    private static let memberKeywords: Set<String> = ["func", "var", "let", "case"]

    private static func lines(of file: SourceFile) -> [ArraySlice<SourceFile.Word>] {
        var (lines, start): ([ArraySlice<SourceFile.Word>], Int) = ([], 0)
        for index in file.words.indices where index > start && file.words[index].line != file.words[start].line {
            lines.append(file.words[start..<index])
            start = index
        }
        return lines + [file.words[start...]]
    }

    private static func lines(of file: SourceFile, indentedBy indentation: Int) -> [ArraySlice<SourceFile.Word>] {
        lines(of: file).filter { $0.first?.indentation == indentation }
    }

    /// Returns the word after the first of some keywords in a line.
    private static func name(in line: ArraySlice<SourceFile.Word>, after keywords: Set<String>) -> String? {
        guard let keyword = line.firstIndex(where: { keywords.contains($0.text) }) else { return nil }
        return line[(keyword + 1)...].first?.text
    }

    /// Returns the text with blanks in place of comments and of the contents of string literals; interpolated code stays.
    static func withoutCommentsAndStrings(_ text: String) -> String {
        var scanner = CodeScanner(text)
        return scanner.run()
    }
}
