import CurlEngine
import FoundationEssentials
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

private enum API {
    static let session = Session()

    static func user(_ id: Int) async throws -> String {
        try await session.string("https://api.example.com/users/\(id)")
    }
}

/// The test of the page Cassettes about the trait, with the cassette beside this file, and the message of a request that is not recorded.
@Suite(.timeLimit(.minutes(1)))
struct CassettesPageTraitTests {
    @Test(.trellis(.cassette("users") { $0.allowsUnused = false }))
    func aUserIsReadFromACassette() async throws {
        #expect(try await API.user(7) == "Ada")
    }

    @Test func aUserThatIsNotInTheCassetteIsAnIssueWithTheNearestRecording() async throws {
        let (test, testCase) = (try #require(Test.current), Test.Case.current)
        let issues = Locked<[Issue]>([])
        let trait: TransportTrait = .trellis(.cassette("users", mode: .none))
        try await withKnownIssue(isIntermittent: true) {
            try await trait.provideScope(for: test, testCase: testCase) { _ = try? await API.user(8) }
        } matching: { issue in
            issues.withLock { $0.append(issue) }
            return true
        }
        let text = issues.withLock { $0.compactMap { $0.comments.first?.rawValue } }.joined()
        #expect(text.contains("matches GET https://api.example.com/users/8"))
        #expect(text.contains("nearest: GET https://api.example.com/users/7"))
        #expect(text.contains(#"path: recorded "/users/7", asked "/users/8""#))
        #expect(text.contains("TRELLIS_CASSETTES=all swift test --filter CassettesPageTraitTests"))
    }
}
