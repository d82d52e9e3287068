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
@Suite(.timeLimit(.minutes(3)))
struct CassettesPageTraitTests {
    @Test(.trellis(.cassette("users") { $0.allowsUnused = false }))
    func aUserIsReadFromACassette() async throws {
        #expect(try await API.user(7) == "Ada")
    }

    @Test func aUserThatIsNotInTheCassetteIsAnIssueWithTheNearestRecording() async throws {
        let found = try await issues(.trellis(.cassette("users", mode: .none))) { _ = try? await API.user(8) }
        let text = found.compactMap { $0.comments.first?.rawValue }.joined()
        #expect(text.contains("matches GET https://api.example.com/users/8"))
        #expect(text.contains("nearest: GET https://api.example.com/users/7"))
        #expect(text.contains(#"path: recorded "/users/7", asked "/users/8""#))
        #expect(text.contains("TRELLIS_CASSETTES=all swift test --filter CassettesPageTraitTests"))
    }

    /// The error that ends a test is its only issue, if there is no recording, and if there is no cassette.
    @Test(arguments: ["users", "missing"])
    func aRecordingThatIsMissingIsReportedOnce(_ name: String) async throws {
        let found = try await issues(.trellis(.cassette(name, mode: .none))) { _ = try await API.user(8) }
        let error = try #require(found.first?.error as? TrellisError)
        #expect(found.count == 1 && error.description.contains("TRELLIS_CASSETTES="))
    }
}
