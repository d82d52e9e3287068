import Testing
import TrellisTesting

@testable import Trellis

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

    @Test func redactingTwiceIsRedactingOnce() {
        let once = URLRedaction.redact("https://ann:secret@example.com/?token=abc&q=1")
        #expect(URLRedaction.redact(once) == once)
    }
}
