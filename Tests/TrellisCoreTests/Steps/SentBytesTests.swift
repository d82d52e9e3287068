import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// The texts that steps compare before they send are compared as bytes.
struct SentBytesTests {
    @Test func twoTargetsAreTwoWhateverSwiftSays() {
        let response = RedirectPolicyTests.response(302, ["/\u{E9}", "/e\u{301}"], to: "http://a.example/")
        let decision = RedirectPolicy().decision(for: response, to: Request("http://a.example/"), redirects: [])
        #expect(RedirectPolicyTests.Outcome(decision) == .failure(.redirectRefused))
    }

    @Test func aHandlersSpellingIsTheOneThatIsTold() async throws {
        let request = Request("http://a.example/")
        let response = RedirectPolicyTests.response(302, ["/K"], to: request.url)
        let handler = Redirector.modify { next, _ in next.setting(\.url, to: "http://a.example/\u{212A}") }
        let next = try await RedirectPolicy().next(
            after: response, to: request, handler: handler, context: .test())
        #expect(next?.redirect.to == "http://a.example/%E2%84%AA")
    }

    @Test func userInformationEndsAtItsByte() {
        let url = RedirectTargetTests.target("/b", of: "https://ann:pw@\u{FE0F}a.example/x")
        #expect(url == "https://ann:pw@a.example/b")
        #expect(Request("http://ann:pw@\u{FE0F}a.example/").limitedHost.bytes == "\u{FE0F}a.example".bytes)
    }

    @Test func aLoginIsItsBytes() {
        let netrc = Netrc(entries: [
            .init(machine: "a.example", login: "\u{E9}", password: "one"),
            .init(machine: "a.example", login: "e\u{301}", password: "two"),
        ])
        #expect(netrc.credential(for: "a.example", user: "e\u{301}") == .basic(username: "e\u{301}", password: "two"))
    }

    @Test func anEquivalentNonceIsAnother() async throws {
        let memory = DigestSessionCache { "client" }
        func challenge(_ nonce: String) throws -> DigestChallenge {
            let field = "Digest realm=\"r\", nonce=\"\(nonce)\""
            return try #require(DigestChallenge.first(in: AuthenticationChallenge.parse(field)))
        }
        _ = try await memory.answer(challenge("\u{E9}"), for: "o", hasFinalURLs: true)
        let space = try await memory.answer(challenge("e\u{301}"), for: "o", hasFinalURLs: true)
        #expect(space?.nonce.bytes == "e\u{301}".bytes && space?.count == 1)
        await memory.renew("\u{E9}", after: "e\u{301}", for: "o")
        #expect(await memory.next(for: "o")?.nonce.bytes == "\u{E9}".bytes)
        await memory.renew("x", after: "e\u{301}", for: "o")
        #expect(await memory.next(for: "o")?.nonce.bytes == "\u{E9}".bytes)
    }

    @Test func theCaseOfAHostIsNoOtherOrigin() {
        func changes(_ from: String, _ to: String) -> Bool {
            Redirect(status: .found, from: from, to: to).changesOrigin
        }
        #expect(
            !changes("http://A.example/", "http://a.example/b") && changes("http://a.example/", "http://b.example/"))
        #expect(
            changes("http://a.example/", "https://a.example/") && changes("http://a.example/", "http://a.example:81/"))
    }

    @Test(arguments: JoiningScalars.all)
    func aProxysMistakeTellsNoSecret(_ scalar: Unicode.Scalar) {
        for url in ["http://ann:secret@\(scalar)p:99999/", "http://p/#\(scalar)", "http://p/?\(scalar)"] {
            do {
                _ = try Proxy(url)
                Issue.record("\(url) is no proxy")
            } catch {
                #expect(!"\(error)".utf8.contains("secret".utf8))
            }
        }
    }
}
