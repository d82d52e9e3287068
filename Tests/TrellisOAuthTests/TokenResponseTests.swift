import FoundationEssentials
import Testing
import TrellisCore

@testable import TrellisOAuth

/// The rules for responses, metadata and the renewal, without a network.
struct TokenResponseTests {
    private static func value(_ json: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
    }

    @Test(
        arguments: [
            ("3600", 3600.0), (#""3600""#, 3600), ("0", 0), ("-5", 0), ("1.5", 1.5), ("1e300", 100.0 * 365 * 86400),
            ("null", nil),
        ] as [(String, Double?)])
    func aLifetimeIsANumberOrDigits(_ json: String, _ seconds: Double?) throws {
        #expect(try TokenResponse.lifetime(Self.value(#"{"e": \#(json)}"#)["e"]) == seconds)
    }

    @Test(arguments: [#""""#, #""soon""#, #""-1""#, #""1e3""#, "true", "[]", #""99999999999999999999""#])
    func aLifetimeOfAnotherKindIsAnError(_ json: String) throws {
        let value = try Self.value(#"{"e": \#(json)}"#)["e"]
        #expect(throws: OAuthError.self) { try TokenResponse.lifetime(value) }
    }

    @Test(arguments: ["bearer", "Bearer", "BEARER"])
    func theTypeIsComparedWithoutCase(_ type: String) throws {
        let value = try Self.value(#"{"access_token": "a", "token_type": "\#(type)"}"#)
        #expect(try TokenResponse.token(value, now: Date()) == OAuthToken("a"))
    }

    @Test(
        arguments: [
            (#"{"access_token": "a", "token_type": "DPoP"}"#, OAuthError.unacceptableTokenType("DPoP")),
            (#"{"access_token": "a"}"#, .malformedResponse(reason: "it has no token_type")),
            (#"{"token_type": "bearer"}"#, .malformedResponse(reason: "it has no access_token")),
            (
                #"{"access_token": "a\r\nX: 1", "token_type": "bearer"}"#,
                .malformedResponse(reason: "the access_token has other bytes than visible ASCII")
            ),
        ])
    func aTokenThatCannotBeUsedIsAnError(_ json: String, _ error: OAuthError) throws {
        let value = try Self.value(json)
        #expect(throws: error) { try TokenResponse.token(value, now: Date()) }
    }

    @Test func anErrorIsARefusalWhateverTheStatus() {
        let body = Data(#"{"error": "slow_down", "error_description": "a\u001bb"}"#.utf8)
        let refusal = OAuthRefusal("slow_down", explanation: #"a\u{1b}b"#)
        for status in [200, 400, 401] {
            #expect(throws: refusal) { try TokenResponse.object(body, status: status, secrets: []) }
        }
    }

    @Test func aRefusalRepeatsNoSecret() {
        let body = Data(
            #"{"error": "invalid_client", "error_description": "s3cret/x is wrong", "error_uri": "u?s3cret/x"}"#.utf8)
        let error = #expect(throws: OAuthRefusal.self) {
            try TokenResponse.object(body, status: 401, secrets: ["s3cret/x"])
        }
        #expect(error?.description.contains("s3cret") == false)
        #expect(error?.explanation == "REDACTED is wrong")
    }

    /// A search of the whole text for the whole secret would take hours.
    @Test func aLongTextThatIsAlmostASecretIsShortened() {
        let secret = String(repeating: "a", count: 8 << 10) + "b"
        let text = String(repeating: "a", count: 16 << 20)
        #expect(ShownText.line(text, without: [secret]) == String(repeating: "a", count: ShownText.limit) + "…")
        #expect(ShownText.line("\(secret)!\(secret)", without: ["aaaaaa", secret]) == "REDACTED!REDACTED")
    }

    @Test(
        arguments: [
            ("<html>", 200, OAuthError.malformedResponse(reason: "it is not JSON")),
            ("[]", 200, .malformedResponse(reason: "it is not a JSON object")),
            ("<html>", 502, .unacceptableStatus(502)),
            ("", 307, .unacceptableStatus(307)),
        ])
    func anotherResponseIsAnError(_ body: String, _ status: Int, _ error: OAuthError) {
        #expect(throws: error) { try TokenResponse.object(Data(body.utf8), status: status, secrets: []) }
    }

    @Test func theRenewalIsBeforeTheExpiry() {
        let now = Date(timeIntervalSince1970: 1000)
        func early(_ lifetime: Double, _ random: Double, _ rule: OAuthRenewal = OAuthRenewal()) -> Double {
            let end = now.addingTimeInterval(lifetime)
            return end.timeIntervalSince(rule.renewal(expiring: end, now: now, random: random))
        }
        #expect(early(3600, 0) == 60)
        #expect(early(3600, 1) == 90)
        // A short life is used for its greater part.
        #expect(early(40, 0) == 10)
        #expect(early(0, 1) == 0)
        #expect(early(3600, 1, OAuthRenewal(margin: .seconds(-5))) == 0)
        #expect(early(3600, 1, OAuthRenewal(jitter: .nan)) == 60)
        #expect(early(3600, 1, OAuthRenewal(jitter: 7)) == 120)
    }

    // MARK: Metadata

    @Test(
        arguments: [
            (
                "https://a.example",
                [
                    "https://a.example/.well-known/oauth-authorization-server",
                    "https://a.example/.well-known/openid-configuration",
                ]
            ),
            (
                "https://a.example/t/1/",
                [
                    "https://a.example/.well-known/oauth-authorization-server/t/1",
                    "https://a.example/.well-known/openid-configuration/t/1",
                    "https://a.example/t/1/.well-known/openid-configuration",
                ]
            ),
        ])
    func theMetadataHasKnownPlaces(_ issuer: String, _ urls: [String]) throws {
        #expect(try WellKnownURL.metadata(ofIssuer: issuer) == urls)
    }

    @Test(arguments: ["http://a.example/", "https://u:p@a.example/", "ftp://a.example/", "a", ""])
    func secretsGoToSecureEndpointsAlone(_ url: String) {
        #expect(throws: OAuthError.self) { try SecureURL.parsed(url) }
    }

    @Test func metadataOfAnotherIssuerIsRefused() throws {
        let value = try Self.value(#"{"issuer": "https://evil.example", "token_endpoint": "https://evil.example/t"}"#)
        #expect(throws: OAuthError.foreignMetadata(asked: "https://a.example", found: "https://evil.example")) {
            try DiscoveredEndpoints.endpoints(value, of: "https://a.example")
        }
    }

    @Test func anErrorAboutMetadataHasNoSecretOfAURL() throws {
        let value = try Self.value(#"{"resource": "https://b.example"}"#)
        let asked = "https://a.example/v1?token=s3cret"
        #expect(
            throws: OAuthError.foreignMetadata(
                asked: "https://a.example/v1?token=REDACTED", found: "https://b.example")
        ) { try DiscoveredEndpoints.server(value, of: asked) }
    }

    @Test(
        arguments: [
            ("https://a.example", "https://a.example/v1", true), ("https://a.example/v1", "https://a.example/v1", true),
            ("https://a.example/v", "https://a.example/v1", false), ("https://b.example", "https://a.example/", false),
            ("http://a.example/", "https://a.example/", false),
            ("https://a.example/v1/x", "https://a.example/v1", false),
        ])
    func aResourceIsTheBeginningOfTheURL(_ identifier: String, _ url: String, _ isOurs: Bool) {
        #expect(WellKnownURL.isResource(identifier, of: url) == isOurs)
    }
}
