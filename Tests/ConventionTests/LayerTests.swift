import Foundation
import Testing

/// The folders of `Sources/Trellis` use only the folders that they may use.
struct LayerTests {
    /// The folders of shared types, which use none of the layers.
    static let nouns = ["Compose", "Receive", "Observe", "Errors"]
    /// The layers, from the top. Each uses only the layers after it. The folders of one layer do not use each other.
    static let verbs = [["Downloads", "EventSources"], ["Session"], ["Steps"], ["Exchange"], ["Transport"]]
    static let folders = nouns + verbs.joined()

    /// Returns whether a folder must not use another one.
    static func isForbidden(_ other: String, to folder: String) -> Bool {
        guard other != folder, let theirs = verbs.firstIndex(where: { $0.contains(other) }) else { return false }
        guard let own = verbs.firstIndex(where: { $0.contains(folder) }) else { return true }
        return theirs <= own
    }

    static func files(_ folder: String) -> [SourceFile] { SourceTree.files(in: "Sources/Trellis/\(folder)") }

    /// Returns the names that `find` returns for all files of some folders.
    static func names(_ folders: some Sequence<String>, _ find: (SourceFile) -> Set<String>) -> Set<String> {
        folders.reduce(into: []) { names, folder in for file in files(folder) { names.formUnion(find(file)) } }
    }

    /// Returns the places where the code of some files mentions one of the names.
    static func mentions(of names: Set<String>, in files: [SourceFile], after prefix: String = "") -> [String] {
        guard !names.isEmpty, let pattern = try? Regex("\(prefix)\\b(\(names.sorted().joined(separator: "|")))\\b")
        else { return [] }
        return files.flatMap { file in
            file.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { number, line in
                line.firstMatch(of: pattern).map { "\(file.path):\(number + 1) mentions \(line[$0.range])" }
            }
        }
    }

    @Test(arguments: folders)
    func aFolderUsesOnlyTheTypesThatItMay(_ folder: String) {
        let forbidden = Self.names(Self.folders.filter { Self.isForbidden($0, to: folder) }, SourceTree.declaredTypes)
        let violations = Self.mentions(of: forbidden, in: Self.files(folder))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: folders)
    func aFolderUsesOnlyTheFunctionsAndMembersThatItMay(_ folder: String) {
        let left = Self.folders.filter { Self.isForbidden($0, to: folder) }
        // A name that is also declared in another folder may refer to that declaration.
        let engine = SourceTree.files(in: "Sources/CurlEngine").map(SourceTree.declaredNames)
        let others = Self.names(Self.folders.filter { !left.contains($0) }, SourceTree.declaredNames)
            .union(engine.joined())
        let functions = Self.names(left, SourceTree.declaredFunctions).subtracting(others)
        let members = Self.names(left, SourceTree.extensionMembers).subtracting(others).subtracting(Self.standardNames)
        let violations =
            Self.mentions(of: functions, in: Self.files(folder))
            + Self.mentions(of: members, in: Self.files(folder), after: #"\."#)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    /// The names of the framework's members that also exist in the standard library.
    static let standardNames: Set<String> = []

    /// The dependencies between the noun folders have no cycle. `Errors` is excluded, because an error contains the known facts of its
    /// request, and every folder throws errors.
    @Test func theNounFoldersHaveNoCircles() {
        let nouns = Self.nouns.filter { $0 != "Errors" }
        var next = Dictionary(
            uniqueKeysWithValues: nouns.map { folder in
                (
                    folder,
                    Set(
                        nouns.filter { other in
                            other != folder
                                && !Self.mentions(
                                    of: Self.names([other], SourceTree.declaredTypes), in: Self.files(folder)
                                ).isEmpty
                        })
                )
            })
        while let last = next.first(where: { $0.value.isEmpty })?.key {
            next[last] = nil
            for folder in next.keys { next[folder]?.remove(last) }
        }
        #expect(next.isEmpty)
    }

    @Test func everyFileLiesInAFolder() {
        let root = SourceTree.sources.map(\.path).filter {
            $0.hasPrefix("Sources/Trellis/") && $0.split(separator: "/").count == 3
        }
        #expect(root == ["Sources/Trellis/Exports.swift"])
        let found = Set(
            SourceTree.sources.map(\.path).filter { $0.hasPrefix("Sources/Trellis/") && !root.contains($0) }
                .compactMap { $0.split(separator: "/").dropFirst(2).first.map(String.init) })
        #expect(found == Set(Self.folders))
    }

    /// The names of types are found: without them the rules would always hold.
    @Test(arguments: [
        ("Session", "Session"), ("Session", "SessionConfiguration"), ("Exchange", "ExchangeActor"),
        ("Exchange", "ExchangeState"), ("Downloads", "DownloadRequest"), ("EventSources", "EventSource"),
        ("Errors", "TrellisError"),
        ("Transport", "Transport"), ("Transport", "TransportRequest"), ("Compose", "Request"), ("Receive", "Response"),
    ])
    func theNamesAreFound(_ folder: String, _ type: String) {
        #expect(Self.names([folder], SourceTree.declaredTypes).contains(type))
    }

    @Test func theMembersAreFound() {
        #expect(Self.names(["Downloads"], SourceTree.extensionMembers).contains("download"))
        #expect(Self.names(["Session"], SourceTree.declaredFunctions).contains("readOnPool"))
    }

    @Test func theEngineKnowsNothingOfTheFramework() {
        let types = Self.names(Self.folders, SourceTree.declaredTypes)
        let own = SourceTree.files(in: "Sources/CurlEngine").reduce(into: Set<String>()) {
            $0.formUnion(SourceTree.declaredTypes(in: $1))
        }
        let violations = Self.mentions(of: types.subtracting(own), in: SourceTree.files(in: "Sources/CurlEngine"))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func onlyCCurlIncludesLibcurl() {
        let others = SourceTree.sources.filter { !$0.path.hasPrefix("Sources/CurlEngine/") }
        #expect(others.filter { !$0.lines(mentioning: "CCurl").isEmpty }.map(\.path) == [])
    }
}
