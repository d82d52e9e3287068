import CurlEngine
import Testing
import TrellisTestTraits

extension TransportTrait {
    /// Runs a body in the scope of the trait, within the present test.
    func scope(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await provideScope(for: try #require(Test.current), testCase: Test.Case.current, performing: body)
    }
}

/// Runs a body in the scope of a trait, and returns the problems that the trait records.
func issues(
    _ trait: TransportTrait, _ body: @escaping @Sendable () async throws -> Void = {}
) async throws -> [Issue] {
    let issues = Locked<[Issue]>([])
    try await withKnownIssue(isIntermittent: true) {
        try await trait.scope(body)
    } matching: { issue in
        issues.withLock { $0.append(issue) }
        return true
    }
    return issues.withLock { $0 }
}
