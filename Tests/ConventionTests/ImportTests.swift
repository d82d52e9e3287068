import Foundation
import Testing

/// The imports of a target's files are only the modules that the target may link.
struct ImportTests {
    /// The words that may stand between `import` and the module's name.
    private static let kinds: Set<String> = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]

    /// Returns the modules that the files import, each with the first file that does so.
    static func imports(in files: [SourceFile]) -> [String: String] {
        files.reduce(into: [:]) { imports, file in
            for (index, word) in file.words.enumerated() where word.text == "import" && !word.isMember {
                let following = file.words[(index + 1)...].first { !kinds.contains($0.text) }
                if let module = following?.text, imports[module] == nil { imports[module] = file.path }
            }
        }
    }

    private static func imports(of target: String) -> [String: String] {
        imports(in: SourceTree.sources.filter { $0.path.hasPrefix("Sources/\(target)/") })
    }

    /// The core links only the essentials of Foundation: `FoundationNetworking` brings another libcurl, and `Foundation` the
    /// tables of ICU.
    @Test(
        arguments: ["CurlEngine", "Trellis", "TrellisCore", "TrellisRedis", "TrellisSignatures", "TrellisTesting"]
            + features,
        ["FoundationNetworking", "Foundation", "FoundationXML"])
    func theCoreLinksNoMoreOfFoundationThanItsEssentials(_ target: String, _ module: String) {
        #expect(Self.imports(of: target)[module] == nil)
    }

    /// What a program can leave out beside the core.
    static let features = [
        "TrellisCaching", "TrellisDiagnostics", "TrellisDownloads", "TrellisEvents", "TrellisNameServices",
        "TrellisUpgrades", "TrellisWebSockets",
    ]

    @Test(arguments: features)
    func aFeatureUsesTheCoreAlone(_ feature: String) {
        let ours = Self.imports(of: feature).keys.filter { $0.hasPrefix("Trellis") }
        #expect(ours == ["TrellisCore"])
    }

    /// A program that imports the umbrella has every feature.
    @Test func theUmbrellaHasTheCoreAndTheFeatures() {
        #expect(Set(Self.imports(of: "Trellis").keys) == Set(Self.features + ["TrellisCore"]))
    }

    @Test func foundationNetworkingHasATargetOfItsOwn() {
        let files = SourceTree.sources.filter { !$0.lines(mentioning: "FoundationNetworking").isEmpty }
        #expect(!files.isEmpty)
        #expect(files.filter { !$0.path.hasPrefix("Sources/TrellisFoundation/") }.map(\.path) == [])
    }

    @Test(arguments: ["CurlEngine", "Trellis", "TrellisCore", "TrellisSignatures", "TrellisTesting"] + features)
    func nothingDependsOnTheTargetForFoundation(_ target: String) {
        #expect(Self.imports(of: target)["TrellisFoundation"] == nil)
    }

    /// A module that a target imports without a dependency on it is there in time by chance alone.
    @Test func everyTargetDependsOnTheModulesThatItImports() throws {
        let manifest = try String(contentsOfFile: SourceTree.root + "/Package.swift", encoding: .utf8)
        let targets = Self.dependencies(in: manifest)
        #expect(targets.count > 20 && targets["TrellisTesting"]?.contains("CServerTLS") == true)
        var missing: [String] = []
        for (target, direct) in targets {
            var (reached, next) = (Set<String>(), direct)
            while let dependency = next.popFirst() {
                if reached.insert(dependency).inserted { next.formUnion(targets[dependency] ?? []) }
            }
            let files = SourceTree.all.filter { $0.path.split(separator: "/")[1] == target }
            for (module, file) in Self.imports(in: files) where targets[module] != nil && !reached.contains(module) {
                missing.append("\(target) needs \(module): \(file)")
            }
        }
        #expect(missing.sorted() == [])
    }

    /// Returns the targets of a manifest, each with the targets of the same manifest that it depends on.
    static func dependencies(in manifest: String) -> [String: Set<String>] {
        let starts = manifest.matches(of: #/\.(?:target|testTarget|executableTarget)\(\s*name: "(?<name>\w+)"/#)
        let names = Set(starts.map { String($0.name) })
        let ends = starts.dropFirst().map(\.range.lowerBound) + [manifest.endIndex]
        return zip(starts, ends).reduce(into: [:]) { targets, place in
            let (start, end) = place
            let words = manifest[start.range.upperBound..<end].matches(of: #/"(?<word>\w+)"/#)
            targets[String(start.name)] = names.intersection(words.map { String($0.word) })
        }
    }

    @Test(arguments: [
        "import A", "public import A", "@_exported public import A", "@testable import A", "import struct A.B",
        "private import A", "  import A",
    ])
    func everyFormOfAnImportIsFound(_ text: String) {
        #expect(Self.imports(in: [SourceFile(path: "x", text: text, code: "\(text)\nb")]) == ["A": "x"])
    }
}
