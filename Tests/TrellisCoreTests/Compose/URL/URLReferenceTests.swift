import Testing

@testable import TrellisCore

/// Relative references (RFC 3986, section 5).
struct URLReferenceTests {
    private static func resolve(_ reference: String, _ base: String) -> String {
        URLReference(reference).resolved(against: URLReference(base)).text
    }

    /// The examples of RFC 3986, section 5.4, with their base.
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func theExamplesOfTheStandard(_ reference: String, _ target: String) {
        #expect(Self.resolve(reference, "http://a/b/c/d;p?q") == target)
    }

    @Test(arguments: [
        ("users", "https://api.example.com/v2/", "https://api.example.com/v2/users"),
        ("users", "https://api.example.com/v2", "https://api.example.com/users"),
        ("users", "https://api.example.com", "https://api.example.com/users"),
        ("?a=b", "https://api.example.com", "https://api.example.com?a=b"),
        ("", "https://api.example.com/v2/#part", "https://api.example.com/v2/"),
        ("a?u=http://b/", "http://u:p@h:80/", "http://u:p@h:80/a?u=http://b/"),
        ("//other/a/../b", "https://h/", "https://other/b"),
        ("a b/ü#ß", "https://h/é/", "https://h/é/a b/ü#ß"),
        ("\u{301}a", "https://h/b/", "https://h/b/\u{301}a"),
        ("//[::1]:8080/a", "http://h", "http://[::1]:8080/a"),
        ("1a:b", "http://h/x/", "http://h/x/1a:b"),
        ("./a:b", "http://h/x/", "http://h/x/a:b"),
    ])
    func others(_ reference: String, _ base: String, _ target: String) {
        #expect(Self.resolve(reference, base) == target)
    }

    @Test(arguments: [
        "", "a", "a:b", "//h", "//h/p?q#f", "http://u@h:1/p?q?r#f#g", "?", "#", "http://h?#", "s:?q", "/a//b/", ":",
        "a/b:c",
        "//", "///",
    ])
    func theTextComesBack(_ text: String) {
        #expect(URLReference(text).text == text)
    }

    @Test(arguments: [
        ("/a/b/c/./../../g", "/a/g"), ("mid/content=5/../6", "mid/6"), ("", ""), ("..", ""), (".", ""), ("/..", "/"),
        ("/.", "/"), ("../a", "a"), ("/a//../b", "/a/b"), ("/...", "/..."), ("/\u{301}/..", "/"),
    ])
    func dotSegments(_ path: String, _ without: String) {
        #expect(URLReference.removingDotSegments(path) == without)
    }

    @Test func aHundredThousandSegments() {
        #expect(URLReference.removingDotSegments(String(repeating: "/a/..", count: 100_000)) == "/")
    }
}
