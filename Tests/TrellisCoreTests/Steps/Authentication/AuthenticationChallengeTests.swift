import HTTPTypes
import Testing

@testable import TrellisCore

/// Valid and malformed `WWW-Authenticate` fields (RFC 9110, section 11.6.1).
struct AuthenticationChallengeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let field: String
        let challenges: [AuthenticationChallenge]
        var testDescription: String { field.debugDescription }

        init(_ field: String, _ challenges: AuthenticationChallenge...) {
            self.field = field
            self.challenges = challenges
        }
    }

    static func challenge(_ scheme: String, _ parameters: [String: String] = [:], token68: String? = nil)
        -> AuthenticationChallenge
    {
        AuthenticationChallenge(scheme: scheme, parameters: parameters, token68: token68)
    }

    static let rows: [Row] = [
        Row(""),
        Row(" , ,"),
        Row("Basic", challenge("Basic")),
        Row("Basic realm=simple", challenge("Basic", ["realm": "simple"])),
        Row(#"Basic realm="a \"b\" \\ c""#, challenge("Basic", ["realm": #"a "b" \ c"#])),
        Row(#"basic REALM = "x" ,charset="UTF-8""#, challenge("basic", ["realm": "x", "charset": "UTF-8"])),
        Row("Negotiate YII+/-._~==", challenge("Negotiate", token68: "YII+/-._~==")),
        Row("Negotiate a", challenge("Negotiate", token68: "a")),
        Row("Negotiate, Basic realm=x", challenge("Negotiate"), challenge("Basic", ["realm": "x"])),
        // The example of the RFC, and the same challenges in the other order.
        Row(
            #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
            challenge("Basic", ["realm": "simple"]),
            challenge("Newauth", ["realm": "apps", "type": "1", "title": #"Login to "apps""#])),
        Row(
            #"Newauth realm="apps", type=1,  title="Login, \"apps\"" , Basic realm="simple""#,
            challenge("Newauth", ["realm": "apps", "type": "1", "title": #"Login, "apps""#]),
            challenge("Basic", ["realm": "simple"])),
        Row("Bearer realm=x,, error=invalid_token,", challenge("Bearer", ["realm": "x", "error": "invalid_token"])),
        Row("Digest qop=\"auth,auth-int\", nonce=\"\"", challenge("Digest", ["qop": "auth,auth-int", "nonce": ""])),
        Row("Basic realm=first, realm=second", challenge("Basic", ["realm": "first"])),
        // A malformed challenge is dropped, and the other challenges stay.
        Row("realm=x, Basic realm=y", challenge("Basic", ["realm": "y"])),
        Row(#"Basic realm="never ends"#),
        Row(#"Bearer, Basic realm="never, Digest realm=x"#, challenge("Bearer")),
        Row("Basic realm=x y, Bearer realm=z", challenge("Bearer", ["realm": "z"])),
        Row("Basic a b c, Bearer", challenge("Bearer")),
        Row(#"Basic realm=x, "y", Bearer"#, challenge("Bearer")),
        Row("Negotiate abc=, realm=x, Bearer", challenge("Bearer")),
        Row("Basic realm=, Bearer", challenge("Basic", token68: "realm="), challenge("Bearer")),
        Row("=x, \u{e4}, Bearer", challenge("Bearer")),
        Row(String(repeating: ",", count: 10_000) + "Bearer", challenge("Bearer")),
    ]

    @Test(arguments: rows)
    func fieldsAreRead(_ row: Row) { #expect(AuthenticationChallenge.parse(row.field) == row.challenges) }

    @Test func severalFieldsAreOneList() {
        var fields = HTTPFields()
        fields[values: .wwwAuthenticate] = ["Basic realm=a, Bearer", "Digest realm=b"]
        let response = Response(
            head: ResponseHead(status: .unauthorized, headers: fields), url: "http://a.example/")
        #expect(response.authenticationChallenges.map(\.scheme) == ["Basic", "Bearer", "Digest"])
        #expect(response.authenticationChallenges.last?.realm == "b")
        #expect(response.authenticationChallenges.last?.isScheme("DIGEST") == true)
    }
}
