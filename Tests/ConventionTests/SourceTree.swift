import Foundation

/// A Swift file of the package.
struct SourceFile: Sendable {
    /// The path from the package's folder, such as `Sources/Trellis/Compose/Request.swift`.
    let path: String
    let text: String
    /// The text without comments and without the contents of string literals.
    let code: String

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// Returns the numbers of the lines of code that contain a word.
    func lines(mentioning word: String) -> [Int] {
        guard let pattern = try? Regex("\\b\(word)\\b") else { return [] }
        return code.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { $0.element.contains(pattern) }.map { $0.offset + 1 }
    }
}

/// The files of the package, as they are on disk.
enum SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Returns every Swift file below a folder.
    static func files(in folder: String) -> [SourceFile] {
        let base = "\(root)/\(folder)"
        let names = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".swift") }.sorted().compactMap { name in
            guard let text = try? String(contentsOfFile: "\(base)/\(name)", encoding: .utf8) else { return nil }
            return SourceFile(path: "\(folder)/\(name)", text: text, code: withoutCommentsAndStrings(text))
        }
    }

    static let sources = files(in: "Sources")
    static let all = sources + files(in: "Tests")

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
