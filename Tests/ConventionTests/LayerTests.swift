import Testing

/// The folders of the journey know only what they may know.
struct LayerTests {
    static let nouns = ["Compose", "Receive", "Observe"]
    /// Each uses only those to its right.
    static let verbs = ["Session", "Steps", "Exchange", "Transport"]

    static func files(_ folder: String) -> [SourceFile] { SourceTree.files(in: "Sources/Trellis/\(folder)") }

    static func types(_ folders: some Sequence<String>) -> Set<String> {
        folders.reduce(into: []) { types, folder in
            for file in files(folder) { types.formUnion(SourceTree.declaredTypes(in: file)) }
        }
    }

    static func mentions(of types: Set<String>, in files: [SourceFile]) -> [String] {
        files.flatMap { file in
            types.sorted().flatMap { type in file.lines(mentioning: type).map { "\(file.path):\($0) mentions \(type)" }
            }
        }
    }

    @Test(arguments: nouns)
    func nounsDoNotKnowTheVerbs(_ folder: String) {
        let violations = Self.mentions(of: Self.types(Self.verbs), in: Self.files(folder))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: verbs.indices)
    func aVerbUsesOnlyVerbsToItsRight(_ index: Int) {
        let toTheLeft = Self.types(Self.verbs[..<index])
        let violations = Self.mentions(of: toTheLeft, in: Self.files(Self.verbs[index]))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    /// The rules would hold of nothing if the names were not found.
    @Test(arguments: [
        ("Session", "Session"), ("Session", "SessionConfiguration"), ("Exchange", "RequestActor"),
        ("Exchange", "RequestState"),
        ("Transport", "Transport"), ("Transport", "TransportRequest"), ("Compose", "Request"), ("Receive", "Response"),
        ("Observe", "Metrics"),
    ])
    func theNamesAreFound(_ folder: String, _ type: String) {
        #expect(Self.types([folder]).contains(type))
    }

    @Test func theEngineKnowsNothingOfTheFramework() {
        let types = Self.types(Self.nouns + Self.verbs)
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
