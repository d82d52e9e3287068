import HTTPTypes
import Testing

@testable import TrellisCore

/// Digest responses, against the examples of the RFCs.
struct DigestAnswerTests {
    static func challenge(_ field: String) -> DigestChallenge? {
        DigestChallenge.first(in: AuthenticationChallenge.parse(field))
    }

    static func answer(
        _ field: String, user: String = "Mufasa", password: String = "Circle of Life", uri: String = "/dir/index.html",
        cnonce: String = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", count: UInt32 = 1, bodyHash: String? = nil
    ) throws -> DigestResponse {
        let challenge = try #require(Self.challenge(field))
        return DigestResponse(
            challenge: challenge, username: user, password: password, method: .get, uri: uri,
            session: DigestNonces(server: challenge.nonce, client: cnonce), nonce: challenge.nonce, count: count,
            bodyHash: bodyHash)
    }

    static let rfc7616 = """
        Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=ALGORITHM, \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """

    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func theFirstExampleOfRFC7616(_ algorithm: String, _ response: String) throws {
        let answer = try Self.answer(Self.rfc7616.replacing("ALGORITHM", with: algorithm))
        #expect(
            answer.field == """
                Digest username="Mufasa", realm="http-auth@example.org", \
                nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", algorithm=\(algorithm), \
                qop=auth, nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", response="\(response)", \
                opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
                """)
    }

    /// The values are those of erratum 4897: the values in the RFC are truncated SHA-512.
    @Test func theSecondExampleOfRFC7616() throws {
        let answer = try Self.answer(
            """
            Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, charset=UTF-8, userhash=true, \
            nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDssOS"
            """, user: "J\u{e4}s\u{f8}n Doe", password: "Secret, or not?", uri: "/doe.json",
            cnonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        #expect(answer.response == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
        let field = try #require(answer.field)
        #expect(
            field.contains(#"username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b", "#))
        #expect(field.hasSuffix(", userhash=true"))
    }

    @Test func theExampleOfRFC2617() throws {
        let answer = try Self.answer(
            """
            Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
            opaque="5ccc069c403ebaf9f0171e9517f40e41"
            """, password: "Circle Of Life", cnonce: "0a4f113b")
        #expect(answer.response == "6629fae49393a05397450978507c4ef1")
        #expect(answer.field?.contains("algorithm") == false)
    }

    /// The example of RFC 2069, with the value of erratum 749.
    @Test func theExampleOfRFC2069() throws {
        let answer = try Self.answer(
            #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc""#,
            password: "CircleOfLife")
        #expect(answer.response == "1949323746fe6a43ef61f9606e7febea")
        #expect(answer.field?.contains("nc=") == false)
        #expect(answer.field?.contains("qop=") == false)
    }

    @Test(arguments: [
        (#"Digest realm="a", nonce="b", charset=UTF-8"#, "J\u{e4} *", "username*=UTF-8''J%C3%A4%20%2A"),
        (#"Digest realm="a", nonce="b""#, "J\u{e4}", "username=\"J\u{e4}\""),
        (#"Digest realm="a", nonce="b", charset=UTF-8"#, #"a"b\c"#, #"username="a\"b\\c""#),
    ])
    func namesAreWritten(_ field: String, _ user: String, _ parameter: String) throws {
        let answer = try Self.answer(field, user: user)
        #expect(answer.field?.hasPrefix("Digest \(parameter), ") == true)
    }

    @Test(arguments: [
        "Basic realm=a", "Digest realm=a", "Digest nonce=b", #"Digest realm=a, nonce=b, algorithm=SHA-9000"#,
        #"Digest realm=a, nonce=b, qop="other""#, #"Digest realm=a, nonce=b, algorithm=-sess"#,
        #"Digest realm=a, nonce=b, qop="""#,
    ])
    func challengesThatCannotBeAnswered(_ field: String) { #expect(Self.challenge(field) == nil) }

    @Test func theFirstThatIsKnownIsAnswered() throws {
        let field = """
            Basic realm=a, Digest realm=a, nonce=1, algorithm=SHA-9000, Digest realm=a, nonce=2, algorithm=sha-512-256-SESS, \
            stale=TRUE, Digest realm=a, nonce=3
            """
        let challenge = try #require(Self.challenge(field))
        #expect(challenge.nonce == "2")
        #expect(challenge.algorithm == DigestAlgorithm("SHA-512-256-sess"))
        #expect(challenge.isStale)
    }
}
