import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// A case of the public suite of tests for HTTP caches: requests in their order, with the responses of the origin and the expectations.
struct SuiteCase: Sendable {
    /// The weight of a case in the suite.
    enum Kind: Sendable {
        case required
        case optimal
        /// The case is informative in the suite: neither result is an error.
        case check
    }

    let id: String
    let kind: Kind
    let steps: [SuiteStep]
    /// The users of the caches that the case is for.
    private(set) var sharing: [CachePolicy.Sharing] = [.private, .shared]

    static func required(_ id: String, _ steps: SuiteStep...) -> SuiteCase {
        SuiteCase(id: id, kind: .required, steps: steps)
    }

    static func optimal(_ id: String, _ steps: SuiteStep...) -> SuiteCase {
        SuiteCase(id: id, kind: .optimal, steps: steps)
    }

    static func check(_ id: String, _ steps: SuiteStep...) -> SuiteCase {
        SuiteCase(id: id, kind: .check, steps: steps)
    }

    /// Returns the same case for one kind of cache alone.
    func only(_ sharing: CachePolicy.Sharing) -> SuiteCase {
        var example = self
        example.sharing = [sharing]
        return example
    }
}

/// A case with the cache that plays it.
struct SuiteRun: Sendable, CustomTestStringConvertible {
    /// The file of the suite.
    let file: String
    /// The section that the file is about.
    let section: RFCSection
    let example: SuiteCase
    let sharing: CachePolicy.Sharing

    var isShared: Bool { sharing == .shared }
    /// The identifier with the kind of the cache.
    var name: String { "\(example.id) (\(isShared ? "shared" : "private"))" }
    var testDescription: String { "\(section): \(file)/\(name), \(example.kind)" }
}
