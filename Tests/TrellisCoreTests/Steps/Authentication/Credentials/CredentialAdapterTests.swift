import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Credentials that are sent without a challenge, and the origins that receive them.
@Suite(.timeLimit(.minutes(3)))
struct CredentialAdapterTests {
    /// Returns the `Authorization` field that a session with the adapter sends.
    static func sent(_ adapter: any RequestAdapter, _ request: Request) async throws -> String? {
        let transport = MockTransport { _ in MockResponse() }
        var configuration = SessionConfiguration()
        configuration.steps.adapters.append(adapter)
        configuration.baseURL = "https://a.example/"
        _ = try await Session(configuration: configuration, transport: transport).data(request)
        return transport.requests.first?.request.headers[.authorization]
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

    /// Control characters in a credential are an error: nothing is sent, no replacement is made, and the error does not show the
    /// credential.
    @Test(arguments: ["secret\r\nX: y", "secret\n", "secret\r", "sec\u{0}ret", "\u{1}secret", "secret\u{7f}"])
    func controlCharactersAreAnErrorBeforeAnythingIsSent(_ text: String) async throws {
        let request = Request("https://a.example/")
        let transport = MockTransport { _ in MockResponse() }
        let session = Session(transport: transport)
        var byOrigin = OriginCredentials()
        try byOrigin.set(.bearer(text), for: "https://a.example")
        let requests = [
            request.withAdapter(BasicAuthentication(username: text, password: "x")),
            request.withAdapter(BearerAuthentication(token: text)), request.withAdapter(byOrigin),
            request.withAdapter(Netrc(entries: [Netrc.Entry(machine: nil, login: text, password: "x")])),
            request.withSteps { $0.network = [DigestAuthentication(username: text, password: "x")] },
            request.withAuthorization(bearerToken: text), request.withAuthorization(username: text, password: ""),
            request.withAdapter(Adapter { request, _ in request.withAuthorization(bearerToken: text) }),
        ]
        for request in requests {
            let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.reason == .invalidRequest(.headerField("Authorization")))
            #expect(error?.url == "https://a.example/")
            #expect(error?.description.contains("secret") == false)
        }
        #expect(transport.startedCount == 0)
    }

    /// The field has the password in Base64, so that it may contain what no field may.
    @Test(arguments: ["{\n\"key\": 1\r\n}\n", "sec\u{0}ret", "\u{7f}"])
    func aPasswordMayHaveLineEnds(_ text: String) async throws {
        let expected = "Basic " + Data("_json_key:\(text)".utf8).base64EncodedString()
        let request = Request("https://a.example/")
        let netrc = Netrc(entries: [Netrc.Entry(machine: nil, login: "_json_key", password: text)])
        let basic = BasicAuthentication(username: "_json_key", password: text)
        for adapter in [basic, netrc] as [any RequestAdapter] {
            #expect(try await Self.sent(adapter, request) == expected)
        }
        let transport = MockTransport { _ in MockResponse() }
        let session = Session(transport: transport)
        _ = try await session.data(request.withAuthorization(username: "_json_key", password: text))
        #expect(transport.startedCount == 1)
    }

    @Test(arguments: ["https://a%0Ab:x@a.example/", "https://a:x%0D%0Ay@a.example/", "https://a%3Ab:x@a.example/"])
    func soAreThoseOfAURL(_ url: String) async throws {
        let transport = MockTransport { _ in MockResponse() }
        let error = await #expect(throws: TrellisError.self) { try await Session(transport: transport).data(url) }
        #expect([.invalidRequest, .invalidURL].contains(error?.kind))
        #expect(transport.startedCount == 0)
    }

    @Test func aNameHasNoColonAndATokenMayHaveATab() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse() })
        let request = Request("https://a.example/").withAuthorization(username: "a:b", password: "c")
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.detail == "a colon cannot be in a user's name")
        #expect(
            try await Self.sent(BearerAuthentication(token: "a\tb"), Request("https://a.example/")) == "Bearer a\tb")
    }

    @Test(arguments: ["", "a.example", "/path", "ftp://a.example", "https://"])
    func anOriginIsAnAbsoluteURL(_ origin: String) throws {
        let error = #expect(throws: TrellisError.self) { try BearerAuthentication(token: "t", origin: origin) }
        #expect(error?.kind == .invalidURL)
        #expect(throws: TrellisError.self) { try DigestAuthentication(username: "a", password: "b", origin: origin) }
        #expect(throws: TrellisError.self) { try PasswordAuthentication(username: "a", password: "b", origin: origin) }
    }

    @Test func aNetrcFilesEntryIsThatOfTheHost() async throws {
        let netrc = try Netrc(parsing: "machine a.example login ada password secret\nmachine [::1] login six")
        #expect(try await Self.sent(netrc, Request("https://a.example:8443/")) == Self.basic)
        #expect(try await Self.sent(netrc, Request("https://ada@a.example/")) == Self.basic)
        #expect(try await Self.sent(netrc, Request("http://[::1]/")) == "Basic c2l4Og==")
        #expect(try await Self.sent(netrc, Request("https://b.example/")) == nil)
    }
}
