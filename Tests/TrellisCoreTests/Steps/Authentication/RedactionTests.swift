import Testing

@testable import TrellisCore

/// The descriptions of types that hold a secret do not show the secret.
struct RedactionTests {
    static let secret = "s3cr3t"

    static func holders() throws -> [any Sendable] {
        let token = Token(secret)
        let netrc = try Netrc(parsing: "machine a.example login \(secret) password \(secret)")
        var origins = OriginCredentials()
        try origins.set(.bearer(secret), for: "https://a.example")
        var session = SessionConfiguration()
        session.proxy = .always(try Proxy("http://\(secret):\(secret)@proxy.example"))
        return [
            session, session.proxy,
            token, HTTPCredential.bearer(secret), HTTPCredential.basic(username: "ada", password: secret),
            BasicAuthentication(username: "ada", password: secret), BearerAuthentication(token: secret), origins, netrc,
            netrc.entries, AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: token),
            DigestAuthentication(username: "ada", password: secret),
            PasswordAuthentication(username: "ada", password: secret), [Optional(token)], ["key": token],
        ]
    }

    @Test func descriptionsAndDumpsHaveNoSecrets() throws {
        for holder in try Self.holders() {
            var dumped = ""
            dump(holder, to: &dumped)
            for text in [
                "\(holder)", String(reflecting: holder), dumped,
                String(describing: Mirror(reflecting: holder).children.map(\.value)),
            ] {
                #expect(!text.contains(Self.secret), "\(type(of: holder))")
                #expect(!text.isEmpty)
            }
        }
    }

    @Test func aNameIsLeft() {
        #expect("\(HTTPCredential.bearer(Self.secret))" == "HTTPCredential(REDACTED)")
        #expect(String(reflecting: Token(Self.secret)) == "Token(REDACTED)")
    }

    @Test func errorsHaveNoSecrets() throws {
        let error = #expect(throws: AuthenticationError.self) {
            try Netrc(parsing: "machine a.example password \"\(Self.secret)")
        }
        #expect(error.map { "\($0)" } == "line 1 of the netrc file has quotes that do not end, or lacks a value")
        let origin = #expect(throws: TrellisError.self) {
            try BearerAuthentication(token: Self.secret, origin: "ftp://ada:\(Self.secret)@a.example")
        }
        #expect(origin.map { "\($0)".contains(Self.secret) } == false)
    }
}
