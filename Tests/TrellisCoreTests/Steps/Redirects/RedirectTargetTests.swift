import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// The target of a `Location`, and the targets that are refused.
struct RedirectTargetTests {
    typealias Outcome = RedirectPolicyTests.Outcome

    static func target(_ location: String, of url: String = "https://ann:pw@a.example/x/y?q=1#top") -> String? {
        (try? RedirectTarget(location, of: url, sentTo: "https://a.example/x/y?q=1"))?.url
    }

    @Test(arguments: [
        ("/b", "https://ann:pw@a.example/b#top"), ("b", "https://ann:pw@a.example/x/b#top"),
        ("../b?r=2", "https://ann:pw@a.example/b?r=2#top"), ("?r=2", "https://ann:pw@a.example/x/y?r=2#top"),
        ("#end", "https://ann:pw@a.example/x/y?q=1#end"), ("/b#", "https://ann:pw@a.example/b#"),
        (".", "https://ann:pw@a.example/x/#top"), ("/../../b", "https://ann:pw@a.example/b#top"),
        ("//a.example/b", "https://ann:pw@a.example/b#top"), ("https://a.example", "https://ann:pw@a.example/#top"),
        ("//b.example/b", "https://b.example/b#top"), ("https://b.example/b#c", "https://b.example/b#c"),
        // The location's own user information counts for the same origin alone.
        ("https://bob:no@a.example/b", "https://bob:no@a.example/b#top"),
        ("//bob@b.example/b", "https://b.example/b#top"),
        // Spaces, characters beyond ASCII and international names are encoded.
        ("/b c", "https://ann:pw@a.example/b%20c#top"),
        ("/ü?é=“x”", "https://ann:pw@a.example/%C3%BC?%C3%A9=%E2%80%9Cx%E2%80%9D#top"),
        ("/b\u{fffd}", "https://ann:pw@a.example/b%EF%BF%BD#top"), ("/%zz", "https://ann:pw@a.example/%zz#top"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/#top"),
        ("/a:b", "https://ann:pw@a.example/a:b#top"), ("./a:b", "https://ann:pw@a.example/x/a:b#top"),
        ("https://[::1]:8443/b", "https://[::1]:8443/b#top"),
    ])
    func itIsResolvedAgainstTheURL(_ location: String, _ url: String) {
        #expect(Self.target(location) == url)
    }

    /// Bytes that are not UTF-8 are encoded one by one, and are no replacement characters.
    @Test(
        arguments: [
            ("/caf\u{e9}?q=\u{e9}", .follow("GET https://a.example/caf%E9?q=%E9")),
            // One of the bytes is a part of a character in UTF-8, whose other bytes are right.
            ("/\u{c3}\u{a9}\u{ff}", .follow("GET https://a.example/%C3%A9%FF")),
            ("//b\u{e9}.example/", .failure(.redirectRefused)),
        ] as [(String, Outcome)])
    func bytesBeyondUTF8AreEncoded(_ latin1: String, _ outcome: Outcome) {
        let octets = latin1.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        let request = Request("https://a.example/a")
        var headers = HTTPFields()
        headers.append(HTTPField(name: .location, value: octets))
        let response = Response(head: ResponseHead(status: .found, headers: headers), url: request.url)
        #expect(Outcome(RedirectPolicy().decision(for: response, to: request, redirects: [])) == outcome)
    }

    @Test func aRelativeRequestIsWhereItWasSent() {
        #expect(Self.target("b", of: "y") == "https://a.example/x/b")
    }

    /// The fragment of a location without one is that of the original URL (RFC 9110, section 10.2.2).
    @Test(arguments: [
        ("/b", "/a#one", "one"), ("/b#two", "/a#one", "two"), ("/b#", "/a#one", ""), ("/b", "/a", nil),
        ("/b#two", "/a", "two"), ("/b#\u{301}", "/a#one", "\u{301}"),
    ])
    func theFragmentIsInheritedOrReplaced(_ location: String, _ path: String, _ fragment: String?) {
        let decision = RedirectPolicyTests.decision(302, location, of: Request("http://a.example\(path)"))
        guard case .follow(_, let redirect) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(redirect.to == "http://a.example/b" && redirect.fragment?.bytes == fragment?.bytes)
    }

    /// A name with a dot at its end is another origin. A replacement character that the server has written is one of UTF-8.
    @Test(arguments: [
        ("https://a.example./b", "https://a.example./b", true), ("//b.example.", "https://b.example./", true),
        ("/b\u{fffd}", "https://a.example/b%EF%BF%BD", false),
    ])
    func theseAreFollowed(_ location: String, _ url: String, _ changesOrigin: Bool) throws {
        let target = try RedirectTarget(location, of: "https://a.example/x", sentTo: "https://a.example/x")
        #expect(target.to == url && target.changesOrigin == changesOrigin)
    }

    @Test func withoutAFragmentThereIsNone() {
        #expect(Self.target("/b", of: "https://a.example/") == "https://a.example/b")
    }

    @Test(arguments: [
        "file:///etc/passwd", "FILE:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://a.example/",
        "ws://a.example/", "gopher://a.example/", "about:blank", "mailto:a@b.example", "localhost:8080/a", "a:b",
        "https:", "https:b", "https:/b.example", "https://", "https:///b.example", "http:\\\\b.example\\",
        "//", "///b.example", "https://:80/", "https://user@/", "https://b.example:99999/", "https://b.example:x/",
        "https://b.example../", "//127.0.0.1./", "https://b .example/",
        "https://b.example/\r\nX: y", "/b\r\nSet-Cookie: a=b", "/b\nc", "/b\u{0}c", "\t/b", "/b\u{7f}",
        "https://b%00.example/", "https://[::1/", "https://[zz]/", "https://b%E9.example/",
    ])
    func theseAreRefused(_ location: String) {
        #expect(throws: TrellisError.self) {
            try RedirectTarget(location, of: "https://a.example/x", sentTo: "https://a.example/x")
        }
        do {
            _ = try RedirectTarget(location, of: "https://a.example/x", sentTo: "https://a.example/x")
        } catch {
            #expect(error.kind == .redirectRefused)
            #expect(!error.isRetryable)
        }
    }

    @Test(
        arguments: [
            ([], .answer), ([""], .answer), (["", ""], .answer), (["/b", ""], .follow("GET https://a.example/b")),
            (["/b", "/b"], .follow("GET https://a.example/b")), (["/b", "/c"], .failure(.redirectRefused)),
        ] as [([String], Outcome)])
    func oneLocationOrNone(_ locations: [String], _ outcome: Outcome) {
        let request = Request("https://a.example/a")
        let response = RedirectPolicyTests.response(302, locations, to: request.url)
        #expect(Outcome(RedirectPolicy().decision(for: response, to: request, redirects: [])) == outcome)
    }

    @Test(
        arguments: [
            ("https://a.example/", "http://a.example/", false, .failure(.redirectRefused)),
            ("https://a.example/", "http://b.example/", false, .failure(.redirectRefused)),
            ("https://a.example/", "HTTP://a.example/", false, .failure(.redirectRefused)),
            ("https://a.example/", "http://b.example/", true, .follow("GET http://b.example/")),
            ("http://a.example/", "https://a.example/", false, .follow("GET https://a.example/")),
            ("http://a.example/", "http://b.example/", false, .follow("GET http://b.example/")),
        ] as [(String, String, Bool, Outcome)])
    func encryptionIsNotGivenUp(_ url: String, _ location: String, _ isAllowed: Bool, _ outcome: Outcome) {
        var policy = RedirectPolicy()
        policy.allowsDowngrade = isAllowed
        #expect(Outcome(RedirectPolicyTests.decision(302, location, of: Request(url), policy: policy)) == outcome)
    }

    @Test func secretsStayBehindOnTheWayDown() throws {
        var policy = RedirectPolicy()
        policy.allowsDowngrade = true
        let request = Request("https://a.example/").withAuthorization(bearerToken: "x")
        let next = try RedirectPolicyTests.next(
            RedirectPolicyTests.decision(302, "http://a.example/", of: request, policy: policy))
        #expect(next.headers.isEmpty)
    }

    @Test func theSentenceSaysWhyAndShowsNoSecret() throws {
        let request = Request("https://ann:pw@a.example/x?token=abc")
        guard case .refuse(let error) = RedirectPolicyTests.decision(302, "file:///secret", of: request) else {
            throw TrellisError(.other("not refused"))
        }
        #expect(
            error.description
                == "GET https://a.example/x?token=REDACTED: the redirect is refused: its scheme is file, not http or https"
        )
        #expect(error.response?.status == .found)
        #expect(error.mayHaveSentBytes)
    }
}
