import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore
import TrellisDiagnostics
import TrellisTesting

@testable import TrellisOAuth

/// What a token, a secret or a code must not reach: outputs, and other servers.
@Suite(.timeLimit(.minutes(3)))
struct OAuthSecretTests {
    static let secret = "s3cr3t-s3cr3t"

    @Test func descriptionsAndDumpsHaveNoSecrets() throws {
        let token = OAuthToken(Self.secret, refreshToken: Self.secret)
        let client = OAuthClient(id: "app", secret: Self.secret)
        var form = TokenForm(grantType: "refresh_token")
        form.add("refresh_token", Self.secret, isSecret: true)
        let oauth = try OAuthAuthenticator(
            .tokenEndpoint("https://a.example/t"), client: client, grant: .refreshToken(Self.secret),
            origin: "https://api.example.com")
        let holders: [any Sendable] = [
            token, client, client.authentication, oauth, oauth.grant, oauth.credential(token), oauth.interceptor(),
            form,
            PKCE(verifier: Self.secret), AuthorizationCallback(port: 1, state: Self.secret, issuer: nil),
            OAuthDeviceCode(userCode: Self.secret, url: "", completeURL: nil, lifetime: .zero),
            ["key": [Optional(token)]],
        ]
        for holder in holders {
            var dumped = ""
            dump(holder, to: &dumped)
            for text in ["\(holder)", String(reflecting: holder), dumped] {
                #expect(!text.contains(Self.secret), "\(type(of: holder))")
            }
        }
    }

    @Test(
        arguments: [
            "client_secret", "refresh_token", "code", "device_code", "assertion", "client_assertion", "code_verifier",
            "user_code", "subject_token", "password",
        ])
    func aRecordedFormHasNoSecrets(_ name: String) {
        let body = Data("grant_type=x&\(name)=\(Self.secret)&scope=read".utf8)
        let (shown, _) = BodyRedaction.redacted(body, type: "application/x-www-form-urlencoded")
        #expect(String(decoding: shown, as: UTF8.self) == "grant_type=x&\(name)=REDACTED&scope=read")
    }

    @Test(arguments: ["access_token", "refresh_token", "id_token", "device_code", "user_code"])
    func aRecordedResponseHasNoSecrets(_ name: String) {
        let body = Data(#"{"\#(name)": "\#(Self.secret)", "token_type": "bearer"}"#.utf8)
        let (shown, _) = BodyRedaction.redacted(body, type: "application/json")
        #expect(String(decoding: shown, as: UTF8.self) == #"{"\#(name)": "REDACTED", "token_type": "bearer"}"#)
    }

    @Test func aServerThatRepeatsTheRequestShowsNoSecret() async throws {
        let encoded = PercentEncoding.encode(OAuthWorld.secret)
        let field = Data("app:\(encoded)".utf8).base64EncodedString()
        var rules = OAuthTestServer.Rules()
        rules.interruptions = [
            MockResponse(
                status: 401, headers: [:],
                body: Data(#"{"error": "invalid_client", "error_description": "Basic \#(field) and \#(encoded)"}"#.utf8)
            )
        ]
        let world = try OAuthWorld(rules: rules)
        await #expect(throws: OAuthRefusal("invalid_client", explanation: "Basic REDACTED and REDACTED")) {
            try await world.get()
        }
        #expect(world.tokenRequests.first?["Authorization"] == "Basic \(field)")
    }

    /// A redirect would send the form with the secrets to the place that the response names.
    @Test(arguments: [301, 302, 307, 308])
    func aRedirectOfTheTokenEndpointIsNotFollowed(_ status: Int) async throws {
        var rules = OAuthTestServer.Rules()
        rules.interruptions = [MockResponse(status: status, headers: [.location: "https://evil.example/token"])]
        let world = try OAuthWorld(rules: rules)
        await #expect(throws: OAuthError.unacceptableStatus(status)) { try await world.get() }
        #expect(world.transport.requests.allSatisfy { $0.url.hasPrefix(OAuthWorld.issuer) })
    }

    /// A request to somebody else needs no token, and so waits for none.
    @Test(arguments: [
        "https://evil.example/", "http://api.example.com/", "https://api.example.com:444/",
        "https://api.example.com.evil.example/", "https://api.example.com@evil.example/",
    ])
    func anotherOriginGetsNoToken(_ url: String) async throws {
        let world = try OAuthWorld()
        _ = try? await world.session.data(url)
        #expect(world.server.tokenRequestCount == 0)
        _ = try await world.get()
        _ = try? await world.session.data(url)
        let others = world.transport.requests.filter { !$0.url.hasPrefix("https://api.example.com/") }
        #expect(others.allSatisfy { $0["Authorization"]?.hasPrefix("Bearer ") != true })
    }

    @Test func theClientIsFormEncodedInItsField() async throws {
        let client = OAuthClient(id: "a b:c", secret: "p%+é")
        let endpoint = OAuthEndpoint(
            session: RefreshSession { request in
                let field = request.headers[.authorization] ?? ""
                let pair = Data(base64Encoded: String(field.dropFirst(6))).map { String(decoding: $0, as: UTF8.self) }
                #expect(pair == "a%20b%3Ac:p%25%2B%C3%A9")
                #expect(request.body?.data == Data("grant_type=client_credentials".utf8))
                throw OAuthError.malformedAssertion
            }, client: client, timeout: .seconds(1))
        let url = "https://id.example.com/token"
        await #expect(throws: OAuthError.malformedAssertion) {
            try await endpoint.post(TokenForm(grantType: "client_credentials"), to: url, audience: url)
        }
    }

    /// The call ends at its deadline, and the request for the token goes on for the others.
    @Test func aTokenEndpointThatHangsHoldsNoCallBeyondItsDeadline() async throws {
        let gate = LoopbackServer.Gate()
        let world = try OAuthWorld(
            server: .tokenEndpoint("\(OAuthWorld.issuer)/token"), isAnswered: { try await gate.opened() })
        let call = Task {
            try await world.session.data(
                Request("\(OAuthWorld.api)/").withTimeouts(Timeouts(total: .seconds(3))))
        }
        try await world.transport.waitUntilRequested(count: 1)
        await world.clock.advance(by: .seconds(3))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .totalTimeout)
        gate.open()
    }
}
