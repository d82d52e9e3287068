import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The parts of a URL that error messages may show.
struct URLRedactionTests {
    @Test(
        arguments: [
            ("https://example.com/", "https://example.com/"),
            ("https://ann:secret@example.com/a", "https://example.com/a"),
            ("https://ann@example.com:8443/a?b=c", "https://example.com:8443/a?b=c"),
            ("https://ann:p@ss@example.com/", "https://example.com/"),
            ("https://example.com/a@b", "https://example.com/a@b"),
            ("https://example.com?mail=a@b.example", "https://example.com?mail=a@b.example"),
            ("https://example.com#a@b", "https://example.com"),
            ("https://example.com:8443#a@b", "https://example.com:8443"),
            ("https://example.com:/a@b", "https://example.com:/a@b"),
            ("http://[::1]/a@b", "http://[::1]/a@b"), ("http://[::1]:81/#a:@b", "http://[::1]:81/"),
            ("https://bob:hunter#2@example.com/a#b", "https://example.com/a"),
            ("bob:secret@example.com/x?next=https://y", "example.com/x?next=https://y"),
            ("ann@mail.example:se#cret@example.com/", "example.com/"),
            ("https://example.com/?token=abc", "https://example.com/?token=REDACTED"),
            ("https://example.com/?TOKEN=abc&q=1", "https://example.com/?TOKEN=REDACTED&q=1"),
            ("https://example.com/?q=1&api_key=abc&r=2", "https://example.com/?q=1&api_key=REDACTED&r=2"),
            ("https://s3.example/?X-Amz-Signature=ab%20c", "https://s3.example/?X-Amz-Signature=REDACTED"),
            ("https://example.com/?token", "https://example.com/?token"),
            ("https://example.com/?a=token", "https://example.com/?a=token"),
            ("https://example.com/?password=", "https://example.com/?password=REDACTED"),
            ("https://example.com/?a=1&&b=2&", "https://example.com/?a=1&&b=2&"),
            (
                "https://example.com/?refresh_token=a&pwd=b&session_id=c",
                "https://example.com/?refresh_token=REDACTED&pwd=REDACTED&session_id=REDACTED"
            ),
            ("https://example.com/?tokyo=a&keyboard=b", "https://example.com/?tokyo=a&keyboard=b"),
            (
                "https://example.com/?user[pass]=a&user.pwd=b&keys[sid][]=c&pass[user]=d",
                "https://example.com/?user[pass]=REDACTED&user.pwd=REDACTED&keys[sid][]=REDACTED&pass[user]=d"
            ),
            (
                "https://example.com/?SAMLResponse=a&code_verifier=b&pass-phrase=c&private_key=d",
                "https://example.com/?SAMLResponse=REDACTED&code_verifier=REDACTED&pass-phrase=REDACTED"
                    + "&private_key=REDACTED"
            ),
            (
                "https://example.com/a;v=1;jsessionid=x/b;sid=y?pass[0]=c&page[0]=1",
                "https://example.com/a;v=1;jsessionid=REDACTED/b;sid=REDACTED?pass[0]=REDACTED&page[0]=1"
            ),
            (
                "https://example.com/?otp=1&card[cvc]=2&user-pin=3&spin=4&totp[0]=5",
                "https://example.com/?otp=REDACTED&card[cvc]=REDACTED&user-pin=REDACTED&spin=4&totp[0]=REDACTED"
            ),
            ("https://example.com/a;JSESSIONID=x#b", "https://example.com/a;JSESSIONID=REDACTED"),
            ("https://example.com/;;a=1;/b;", "https://example.com/;;a=1;/b;"),
            ("https://example.com:8443/a@b", "https://example.com:8443/a@b"),
            ("not a url", "not a url"),
            ("", ""),
        ] as [(String, String)])
    func userInformationAndSecretValuesAreLeftOut(_ url: String, _ redacted: String) {
        #expect(URLRedaction.redact(url) == redacted)
    }

    @Test(arguments: [
        "https://example.com/?token=abc#part", "https://example.com/#access_token=abc",
        "https://example.com/?a=1&access%5Ftoken=abc", "ann:secret@example.com/",
        "http://ann:se/secret@example.com/", "http://ann:a?secret@example.com",
        "http://example.com/?client-assertion=abc",
        "http://example.com/?X-Goog-Credential=abc", "http://example.com/?SharedAccessSignature=abc",
        // Delimiters count also where a scalar joins them.
        "https://ann:secret@\u{FE0F}example.com/", "https://ann:se/secret@\u{301}example.com/",
        "https://example.com/#\u{301}access_token=abc",
        "https://example.com/?\u{200D}token=abc", "https://example.com/?a=1&\u{FE0F}token=abc",
        "https://example.com/?token=\u{301}abc", "https://example.com/?token\u{301}=abc",
        "https://example.com/?api_\u{301}key=1&api_key=\u{20DD}abc", "https://ann:secret@example.com?\u{301}#\u{301}",
    ])
    func noSecretGetsThrough(_ url: String) async {
        for text in [URLRedaction.redact(url), await failure(of: url)] {
            #expect(!text.utf8.contains("abc".utf8) && !text.utf8.contains("secret".utf8), "\(text)")
        }
    }

    /// A password is redacted also where the URL is invalid.
    @Test(arguments: [
        "https://ann:secret#2@example.com/", "https://ann:abc#secret@example.com/#part",
        "https://ann:secret]#2@example.com/",
        "ann:secret@example.com/x?next=https://y", "example.com/x?token=abc&next=https://y", "abc:@example.com/",
        "//ann:secret@example.com/", "https:///ann:secret@example.com/", "https:/ann:secret@example.com/",
        "ht tp://ann:secret@example.com/", "ann@example.org:se#cret@example.com/?token=abc", "a:https://ann:secret@b/",
        "https://ann@example.org:abc/secret@example.com/", "/?token=abc&next=ftp://y", "ann:secret@ftp://example.com/",
    ])
    func noSecretOfAWrongURLGetsThrough(_ url: String) async { await noSecretGetsThrough(url) }

    /// Returns the error message for a URL that cannot be requested.
    private func failure(of url: String) async -> String {
        do {
            let session = Session(configuration: SessionConfiguration(), transport: MockTransport { _ in .text("") })
            return "\(try await session.data(url).1)"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [("a%20b", "a b"), ("a%+1b", "a%+1b"), ("a%-0b", "a%-0b"), ("%2", "%2"), ("%", "%")])
    func onlyTwoDigitsAreAnEscape(_ text: String, _ decoded: String) {
        #expect(URLRedaction.decoded(text[...]) == decoded)
    }

    @Test func redactingTwiceIsRedactingOnce() {
        let once = URLRedaction.redact("https://ann:secret@example.com/?token=abc&q=1")
        #expect(URLRedaction.redact(once) == once)
    }

    @Test(
        arguments: [
            ("Location", "https://ann:hush@h.example/a?token=hush#hush", "https://h.example/a?token=REDACTED"),
            ("Content-Location", "/a?q=1&sig=hush", "/a?q=1&sig=REDACTED"),
            ("Referer", "https://h.example/?api_key=hush", "https://h.example/?api_key=REDACTED"),
            ("Operation-Location", "https://h.example/?code=hush", "https://h.example/?code=REDACTED"),
            ("Refresh", "5; URL=//ann:hush@h.example/?token=hush", "5; URL=//h.example/?token=REDACTED"),
            ("Refresh", "5", "5"),
            (
                "Link", "<https://ann:hush@h.example/?token=hush&a=b>; rel=\"next\", </b?sig=hush>; title=\"C#\"",
                "<https://h.example/?token=REDACTED&a=b>; rel=\"next\", </b?sig=REDACTED>; title=\"C#\""
            ),
            ("Link", "</a>; anchor=\"/?token=hush", "</a>; anchor=\"/?token=REDACTED"),
            ("Link", "https://ann:hush@h.example/?token=hush", "https://h.example/?token=REDACTED"),
            ("User-Agent", "bot (https://h.example/?token=x#y)", "bot (https://h.example/?token=x#y)"),
            ("X-Auth-Key", "hush", "REDACTED"), ("X-Functions-Key", "hush", "REDACTED"),
            ("X-Private_Key", "hush", "REDACTED"),
        ] as [(String, String, String)])
    func aFieldIsShownWithoutItsSecrets(_ name: String, _ value: String, _ shown: String) throws {
        let field = HTTPField(name: try #require(HTTPField.Name(name)), value: value)
        #expect(SecretFields.redacted(field) == shown)
    }

    @Test func aFieldThatNoTableMayHoldIsASecret() {
        var field = HTTPField(name: .accept, value: "hush")
        #expect(SecretFields.redacted(field) == "hush")
        field.indexingStrategy = .disallow
        #expect(SecretFields.redacted(field) == "REDACTED")
    }
}
