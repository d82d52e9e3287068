import Testing

@testable import CurlEngine

/// The head that the engine itself sends is the one that libcurl would send.
struct RequestHeadBytesTests {
    static let rows: [(url: String, lines: [String], text: String)] = [
        ("http://Example.com", [], "GET / HTTP/1.1|Host: example.com|Accept: */*||"),
        (
            "http://example.com:81/a?b", ["Accept: text/html"],
            "GET /a?b HTTP/1.1|Host: example.com:81|Accept: text/html||"
        ),
        ("https://example.com:8443?b", ["Accept:"], "GET /?b HTTP/1.1|Host: example.com:8443||"),
        ("http://[::1]:81/%20a", ["X;", "Y: a: b;"], "GET /%20a HTTP/1.1|Host: [::1]:81|Accept: */*|X:|Y: a: b;||"),
        (
            "http://example.com/", ["A: 1", "host: other", "ACCEPT: x"],
            "GET / HTTP/1.1|host: other|A: 1|ACCEPT: x||"
        ),
        ("http://[fe80::1%25lo]:81/", ["Accept:"], "GET / HTTP/1.1|Host: [fe80::1]:81||"),
        ("http://[fe80::1%25lo]", ["Accept:"], "GET / HTTP/1.1|Host: [fe80::1]||"),
        ("http://user:password@example.com/#f", ["A: b:"], "GET / HTTP/1.1|Host: example.com|Accept: */*|A: b:||"),
    ]

    @Test(arguments: rows)
    func theHeadHasTheLinesOfTheRequest(_ row: (url: String, lines: [String], text: String)) throws {
        let options = TransferOptions(
            url: try WireURL(parsing: row.url), method: "GET", headerLines: HeaderLines(lines: row.lines))
        let bytes = RequestHeadBytes(options, defaults: HeaderLines(lines: ["Default: no"])).bytes
        let text = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let expected = row.text.split(separator: "|", omittingEmptySubsequences: false)
        #expect(text == expected)
    }

    @Test func theDefaultLinesAreThoseOfTheEngine() throws {
        let options = TransferOptions(url: try WireURL(parsing: "http://a/"), method: "OPTIONS")
        let bytes = RequestHeadBytes(options, defaults: HeaderLines(lines: ["User-Agent: b"])).bytes
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "OPTIONS / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nUser-Agent: b\r\n\r\n")
    }
}
