import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Credentials that are sent unasked, and where.
@Suite(.timeLimit(.minutes(1)))
struct CredentialAdapterTests {
    /// What a session with an adapter sends as `Authorization`.
    static func sent(_ adapter: any RequestAdapter, _ request: Request) async throws -> String? {
        let transport = MockTransport { _ in MockResponse() }
        var configuration = SessionConfiguration()
        configuration.steps.adapters.append(adapter)
        configuration.baseURL = "https://a.example/"
        _ = try await Session(configuration: configuration, transport: transport).data(request)
        return transport.requests.first?.request.headerFields[.authorization]
    }

    static let basic = "Basic YWRhOnNlY3JldA=="

    @Test(arguments: [
        ("https://a.example/x", true), ("https://a.example:443/", true), ("HTTPS://A.EXAMPLE", true),
        ("http://a.example/", false), ("https://a.example:8443/", false), ("https://b.a.example/", false),
        ("https://a.example.evil/", false), ("https://a.example@evil.example/", false), ("/relative", true),
    ])
    func credentialsGoToTheirOriginAlone(_ url: String, _ isSent: Bool) async throws {
        let adapter = try BasicAuthentication(username: "ada", password: "secret", origin: "https://a.example/path")
        let sent = try await Self.sent(adapter, Request(url))
        #expect((sent == Self.basic) == isSent)
    }

    @Test(arguments: ["https://a.example/x", "http://b.example/", "/relative"])
    func withoutAnOriginTheyGoEverywhere(_ url: String) async throws {
        let basic = BasicAuthentication(username: "ada", password: "secret")
        #expect(try await Self.sent(basic, Request(url)) == Self.basic)
        #expect(try await Self.sent(BearerAuthentication(token: "t"), Request(url)) == "Bearer t")
    }

    @Test func eachOriginHasItsOwn() async throws {
        var credentials = OriginCredentials()
        try credentials.set(.bearer("a"), for: "https://a.example")
        try credentials.set(.basic(username: "ada", password: "secret"), for: "http://localhost:8080")
        try credentials.set(.bearer("c"), for: "https://c.example")
        try credentials.set(nil, for: "https://c.example/")
        #expect(try await Self.sent(credentials, Request("https://a.example/")) == "Bearer a")
        #expect(try await Self.sent(credentials, Request("http://localhost:8080/")) == Self.basic)
        #expect(try await Self.sent(credentials, Request("https://c.example/")) == nil)
    }

    @Test func aRequestKeepsItsOwn() async throws {
        let netrc = try Netrc(parsing: "default login ada password secret")
        for adapter in [BasicAuthentication(username: "x", password: "y"), netrc] as [any RequestAdapter] {
            let own = Request("https://a.example/").withAuthorization(bearerToken: "own")
            #expect(try await Self.sent(adapter, own) == "Bearer own")
            #expect(try await Self.sent(adapter, Request("https://ada:secret@a.example/")) == Self.basic)
        }
    }

    @Test(arguments: ["", "a.example", "/path", "ftp://a.example", "https://"])
    func anOriginIsAnAbsoluteURL(_ origin: String) throws {
        let error = #expect(throws: TrellisError.self) { try BearerAuthentication(token: "t", origin: origin) }
        #expect(error?.kind == .invalidURL)
        #expect(throws: TrellisError.self) { try DigestAuthentication(username: "a", password: "b", origin: origin) }
    }

    @Test func aNetrcFilesEntryIsThatOfTheHost() async throws {
        let netrc = try Netrc(parsing: "machine a.example login ada password secret\nmachine [::1] login six")
        #expect(try await Self.sent(netrc, Request("https://a.example:8443/")) == Self.basic)
        #expect(try await Self.sent(netrc, Request("https://ada@a.example/")) == Self.basic)
        #expect(try await Self.sent(netrc, Request("http://[::1]/")) == "Basic c2l4Og==")
        #expect(try await Self.sent(netrc, Request("https://b.example/")) == nil)
    }
}
