import Foundation
import Testing
import TrellisTesting

/// `--oauth`, against an authorization server that is also the API.
@Suite(.timeLimit(.minutes(60))) struct OAuthTests {
    @Test func aClientGetsATokenWithTheSecretOfItsFile() async throws {
        let oauth = OAuthTestServer("http://localhost", clients: ["reports": "s3cret-s3cret"])
        let server = try LoopbackServer.http { request in
            if let answer = oauth.response(to: request) { return answer }
            return oauth.accepts(request["Authorization"]) ? .text("hello") : .init(401)
        }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("s3cret-s3cret\n".utf8).write(to: URL(fileURLWithPath: path))
        let run = try await client([
            server.url("/users"), "--verbose", "--oauth", "client-credentials", "--oauth-token-url",
            server.url("/token"),
            "--oauth-client-id", "reports", "--oauth-client-secret-file", path, "--oauth-scope", "read",
        ])
        #expect(run.status == 0 && run.text.contains("hello"))
        #expect(oauth.forms == [["grant_type": "client_credentials", "scope": "read"]])
        for secret in ["s3cret-s3cret"] + oauth.issued {
            #expect(!run.text.contains(secret) && !run.errors.contains(secret))
        }
    }

    @Test(arguments: [
        ["--oauth", "device", "--oauth-client-id", "a"], ["--oauth-client-id", "a"],
        ["--oauth", "client-credentials", "--oauth-client-id", "a", "--oauth-token-url", "https://a.example"],
    ])
    func optionsThatLackAnotherAreAnError(_ options: [String]) async throws {
        let run = try await client(["\(url)/"] + options)
        #expect(run.status != 0 && run.errors.contains("--oauth"))
    }
}
