import Foundation
import Testing

/// The repository holds no file that was begun and forgotten.
struct FolderTests {
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
