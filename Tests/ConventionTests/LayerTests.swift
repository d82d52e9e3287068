import Foundation
import Testing

/// The folders of `Sources/TrellisCore` use only the folders that they may use.
struct LayerTests {
    /// The folders of shared types, which use none of the layers.
    static let nouns = ["Compose", "Receive", "Observe", "Errors"]
    /// The layers, from the top. Each uses only the layers after it. The folders of one layer do not use each other.
    static let verbs = [["Session"], ["Steps"], ["Exchange"], ["Transport"]]
    static let folders = nouns + verbs.joined()

    /// Returns whether a folder must not use another one.
    static func isForbidden(_ other: String, to folder: String) -> Bool {
        guard other != folder, let theirs = verbs.firstIndex(where: { $0.contains(other) }) else { return false }
        guard let own = verbs.firstIndex(where: { $0.contains(folder) }) else { return true }
        return theirs <= own
    }

    static func files(_ folder: String) -> [SourceFile] { SourceTree.files(in: "Sources/TrellisCore/\(folder)") }

    /// The names that the files of a folder declare.
    struct Declarations {
        var types: Set<String> = []
        var functions: Set<String> = []
        var members: Set<String> = []
        var names: Set<String> = []

        init(_ files: [SourceFile]) {
            for file in files {
                types.formUnion(SourceTree.declaredTypes(in: file))
                functions.formUnion(SourceTree.declaredFunctions(in: file))
                members.formUnion(SourceTree.extensionMembers(in: file))
                names.formUnion(SourceTree.declaredNames(in: file))
            }
        }
    }

    static let engine = SourceTree.files(in: "Sources/CurlEngine")
    static let engineDeclarations = Declarations(engine)
    static let declarations = Dictionary(uniqueKeysWithValues: folders.map { ($0, Declarations(files($0))) })

    /// Returns the names of one kind that some folders declare.
    static func names(_ folders: some Sequence<String>, _ kind: (Declarations) -> Set<String>) -> Set<String> {
        folders.reduce(into: []) { names, folder in names.formUnion(declarations[folder].map(kind) ?? []) }
    }

    /// Returns the places where the code of some files mentions one of the names.
    static func mentions(of names: Set<String>, in files: [SourceFile], asMembers: Bool = false) -> [String] {
        files.flatMap { file in
            file.words.filter { names.contains($0.text) && ($0.isMember || !asMembers) }
                .map { "\(file.path):\($0.line) mentions \($0.text)" }
        }
    }

    @Test(arguments: folders)
    func aFolderUsesOnlyTheTypesThatItMay(_ folder: String) {
        // A name that the folder declares itself, or the file inside a type, means that declaration.
        let forbidden = Self.names(Self.folders.filter { Self.isForbidden($0, to: folder) }, \.types)
            .subtracting(Self.names([folder], \.types))
        let violations = Self.files(folder).flatMap { file in
            let nested = SourceTree.declaredTypes(in: file, indentedBy: 4)
            return Self.mentions(of: forbidden.subtracting(nested), in: [file])
        }
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: folders)
    func aFolderUsesOnlyTheFunctionsAndMembersThatItMay(_ folder: String) {
        let left = Self.folders.filter { Self.isForbidden($0, to: folder) }
        // A name that is also declared in another folder may refer to that declaration.
        let others = Self.names(Self.folders.filter { !left.contains($0) }, \.names)
            .union(Self.engineDeclarations.names)
        let functions = Self.names(left, \.functions).subtracting(others)
        let members = Self.names(left, \.members).subtracting(others).subtracting(Self.standardNames)
        let violations =
            Self.mentions(of: functions, in: Self.files(folder))
            + Self.mentions(of: members, in: Self.files(folder), asMembers: true)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    /// The names of the framework's members that also exist in the standard library.
    static let standardNames: Set<String> = ["cancelAll", "exchange", "store"]

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
                                    of: Self.names([other], \.types), in: Self.files(folder)
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
            $0.hasPrefix("Sources/TrellisCore/") && $0.split(separator: "/").count == 3
        }
        #expect(root == ["Sources/TrellisCore/Exports.swift"])
        let found = Set(
            SourceTree.sources.map(\.path).filter { $0.hasPrefix("Sources/TrellisCore/") && !root.contains($0) }
                .compactMap { $0.split(separator: "/").dropFirst(2).first.map(String.init) })
        #expect(found == Set(Self.folders))
    }

    /// The names of types are found: without them the rules would always hold.
    @Test(arguments: [
        ("Session", "Session"), ("Session", "SessionConfiguration"), ("Exchange", "ExchangeActor"),
        ("Exchange", "ExchangeState"), ("Errors", "TrellisError"),
        ("Transport", "Transport"), ("Transport", "TransportRequest"), ("Compose", "Request"), ("Receive", "Response"),
    ])
    func theNamesAreFound(_ folder: String, _ type: String) {
        #expect(Self.names([folder], \.types).contains(type))
    }

    @Test func aNestedTypeIsFound() {
        let text = "struct A {\n    public enum B {}\n}\nenum C {}\n"
        let file = SourceFile(path: "x", text: text, code: text)
        #expect(SourceTree.declaredTypes(in: file, indentedBy: 4) == ["B"])
        #expect(SourceTree.declaredTypes(in: file) == ["A", "C"])
    }

    @Test func theMembersAreFound() {
        #expect(Self.names(["Session"], \.members).contains("upload"))
        #expect(Self.names(["Session"], \.functions).contains("readOnPool"))
    }

    @Test func theEngineKnowsNothingOfTheFramework() {
        let types = Self.names(Self.folders, \.types).subtracting(Self.engineDeclarations.types)
        let violations = Self.mentions(of: types, in: Self.engine)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func onlyCCurlIncludesLibcurl() {
        let others = SourceTree.sources.filter { !$0.path.hasPrefix("Sources/CurlEngine/") }
        #expect(others.filter { !$0.lines(mentioning: "CCurl").isEmpty }.map(\.path) == [])
    }
}
