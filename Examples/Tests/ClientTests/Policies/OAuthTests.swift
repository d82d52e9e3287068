import Foundation
import Testing
import TrellisTesting

/// The options of `--oauth`.
@Suite(.timeLimit(.minutes(60))) struct OAuthTests {
    @Test(arguments: [
        ["--oauth", "device", "--oauth-client-id", "a"], ["--oauth-client-id", "a"],
        ["--oauth", "client-credentials", "--oauth-client-id", "a", "--oauth-token-url", "https://a.example"],
    ])
    func optionsThatLackAnotherAreAnError(_ options: [String]) async throws {
        let run = try await client(["\(url)/"] + options)
        #expect(run.status != 0 && run.errors.contains("--oauth"))
    }
}
