import Foundation
import Testing

/// `--user` and `--auth`. `/protected/SCHEME` describes a request that has credentials, and challenges another one.
@Suite(.timeLimit(.minutes(60))) struct CredentialTests {
    /// The credentials of the request that the server has accepted.
    private static func sent(_ arguments: String...) async throws -> [String] {
        try await client(arguments).lines.starting(with: "Authorization")
    }

    @Test(arguments: [[], ["--auth", "any"]])
    func aNameAndAPasswordAreBasicCredentials(options: [String]) async throws {
        let run = try await client(["\(url)/protected/Basic", "--user", "Aladdin:open sesame"] + options)
        #expect(
            run.lines.starting(with: "Authorization") == ["Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
    }

    @Test func aTokenIsABearersCredential() async throws {
        let sent = try await Self.sent("\(url)/protected/Bearer", "--user", "some-token", "--auth", "bearer")
        #expect(sent == ["Authorization: Bearer some-token"])
    }

    @Test func aDigestIsTheOneOfTheChallenge() async throws {
        let sent = try await Self.sent("\(url)/protected/Digest", "--user", "Mufasa:Circle of Life", "--auth", "digest")
        #expect(sent.count == 1)
        let matches = (sent.first ?? "").matches(of: /(\w+)="?([^",]*)/)
        let fields = Dictionary(matches.map { (String($0.1), String($0.2)) }) { _, last in last }
        let user = try await sha256(Data("Mufasa:test:Circle of Life".utf8))
        let target = try await sha256(Data("GET:/protected/Digest".utf8))
        let count = try #require(fields["nc"]), nonce = try #require(fields["cnonce"])
        let wanted = try await sha256(Data("\(user):abc:\(count):\(nonce):auth:\(target)".utf8))
        #expect(fields["response"] == wanted)
    }

    @Test func anySchemeIsDigestWhereTheServerAsksForIt() async throws {
        let sent = try await Self.sent("\(url)/protected/Digest", "--user", "Mufasa:Circle of Life", "--auth", "any")
        #expect(sent.count { $0.hasPrefix("Authorization: Digest ") } == 1)
    }

    @Test func nothingIsSentWithoutCredentials() async throws {
        let run = try await report(["\(url)/protected/Basic"])
        #expect(run.report["status"] == 401)
    }

    @Test func anErrorDoesNotShowThePassword() async throws {
        let run = try await client(["\(url)/cut", "--user", "name:s3cret"])
        #expect(run.status != 0 && run.errors != "")
        #expect(!run.text.contains("s3cret") && !run.errors.contains("s3cret"))
    }
}
