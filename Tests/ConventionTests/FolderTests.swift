import Foundation
import Testing

/// The repository holds only files that belong there.
struct FolderTests {
    /// A folder contains only known files: a file that an example creates when it runs would be committed with the next change.
    @Test(arguments: [
        ("", ["Benchmarks", "CHANGELOG.md", "Examples", "LICENSE", "Package.swift", "README.md", "Sources", "Tests"]),
        ("Examples", ["Package.swift", "Sources", "Tests", "run.sh"]),
    ])
    func aFolderHoldsWhatBelongsThere(_ folder: String, _ names: [String]) throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: "\(SourceTree.root)/\(folder)")
        let others = found.filter { !$0.hasPrefix(".") && $0 != "Package.resolved" && !names.contains($0) }
        #expect(others == [])
    }

    @Test(arguments: ["Benchmarks", "Examples", "Sources", "Tests"])
    func noFileIsEmpty(_ folder: String) {
        let base = "\(SourceTree.root)/\(folder)"
        let names = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
        let empty = names.filter { name in
            guard !name.split(separator: "/").contains(where: { $0.hasPrefix(".") }) else { return false }
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(base)/\(name)")
            return attributes?[.type] as? FileAttributeType == .typeRegular && attributes?[.size] as? Int == 0
        }
        #expect(empty == [])
    }
}
