import FoundationEssentials
import Testing
import TrellisCore

@testable import TrellisOAuth

/// The requests that reach the port of a sign-in, and the proof of the client (RFC 7636, appendix B).
struct AuthorizationCodeTests {
    static let callback = AuthorizationCallback(port: 4711, state: "st", issuer: "https://id.example.com")

    static func outcome(
        _ target: String, method: String = "GET", host: String = "127.0.0.1:4711"
    ) -> AuthorizationCallback.Outcome {
        callback.outcome(ofHead: Array("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8))
    }

    @Test func theChallengeIsTheOneOfTheRFC() throws {
        let pkce = PKCE(verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(try pkce.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(PKCE().verifier.utf8.count == 43 && PKCE().verifier != PKCE().verifier)
    }

    @Test func theCodeComesWithTheState() {
        #expect(Self.outcome("/callback?code=a%2Fb&state=st") == .code("a/b"))
        #expect(Self.outcome("/callback?code=c&state=st&iss=https%3A%2F%2Fid.example.com") == .code("c"))
    }

    @Test(
        arguments: [
            "/", "/favicon.ico", "/callback", "/callback?code=c", "/callback?code=c&state=other", "/callback?state=st",
            "/callback?code=c&state=st&state=st", "/callback?code=&state=st", "/callbacks?code=c&state=st",
            "/callback?code=c&state=st&iss=https%3A%2F%2Fevil.example", "/callback?code=c&state=st&iss=a&iss=b",
            "/callback?code=c&state=st&iss=%zz", "/callback?code=c&state=st&error=a&error=b",
        ])
    func otherRequestsAreNotFound(_ target: String) { #expect(Self.outcome(target) == .notFound) }

    /// Otherwise, an answer of another server could be taken for its answer (RFC 9207, section 2.4).
    @Test func aServerThatNamesItsIssuerAlwaysDoes() throws {
        let json = """
            {"issuer": "https://a.example", "token_endpoint": "https://a.example/t",
             "authorization_response_iss_parameter_supported": true}
            """
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
        let urls = try DiscoveredEndpoints.endpoints(value, of: "https://a.example")
        let callback = AuthorizationCallback(
            port: 80, state: "st", issuer: urls.issuer, requiresIssuer: urls.sendsIssuer)
        func outcome(_ query: String) -> AuthorizationCallback.Outcome {
            callback.outcome(ofHead: Array("GET /callback?\(query) HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n".utf8))
        }
        #expect(outcome("code=c&state=st") == .notFound)
        #expect(outcome("code=c&state=st&iss=https://a.example") == .code("c"))
    }

    @Test func anotherHostOrMethodIsNotFound() {
        #expect(Self.outcome("/callback?code=c&state=st", host: "evil.example:4711") == .notFound)
        #expect(Self.outcome("/callback?code=c&state=st", method: "POST") == .notFound)
        #expect(Self.callback.outcome(ofHead: [0xFF, 0x0D, 0x0A]) == .notFound)
        #expect(Self.callback.outcome(ofHead: []) == .notFound)
    }

    @Test func aRefusalIsTheServersError() {
        #expect(
            Self.outcome("/callback?error=access_denied&error_description=no%0Away&state=st")
                == .refused(OAuthRefusal("access_denied", explanation: #"no\u{a}way"#)))
    }
}
