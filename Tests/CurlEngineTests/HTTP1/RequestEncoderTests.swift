import Testing

@testable import CurlEngine

/// The head of a request is written by RFC 9112.
struct RequestEncoderTests {
    private static func options(
        _ url: String, _ method: String = "GET", _ lines: [String]? = [], body: TransferOptions.Body = .none,
        route: TransferRoute = .direct, unchanged: Bool = false, hasTrailers: Bool = false, switches: Bool = false
    ) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: url, unchanged: unchanged), route: route, method: method,
            headerLines: lines.map { HeaderLines(lines: $0) }, body: body, version: .http1, hasTrailers: hasTrailers,
            switchesProtocols: switches)
    }

    private static func text(_ options: TransferOptions, defaults: [String] = ["Default: no"]) throws -> String {
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines(lines: defaults))
        var bytes: [UInt8] = []
        _ = try encoder.append(options, to: &bytes)
        return String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "|")
    }

    static let rows: [(url: String, lines: [String], text: String)] = [
        ("http://Example.com", [], "GET / HTTP/1.1|Host: example.com|Accept: */*||"),
        (
            "http://example.com:81/a?b", ["Accept: text/html"],
            "GET /a?b HTTP/1.1|Host: example.com:81|Accept: text/html||"
        ),
        ("https://example.com:8443?b", ["Accept:"], "GET /?b HTTP/1.1|Host: example.com:8443||"),
        ("http://[::1]:81/%20a", ["X;", "Y: a: b;"], "GET /%20a HTTP/1.1|Host: [::1]:81|Accept: */*|X:|Y: a: b;||"),
        (
            "http://example.com/", ["A: 1", "host: other", "HOST: third", "ACCEPT: x"],
            "GET / HTTP/1.1|host: other|A: 1|ACCEPT: x||"
        ),
        ("http://example.com/", ["Host;", "Accept;"], "GET / HTTP/1.1|Host:|Accept:||"),
        ("http://[fe80::1%25lo]:81/", ["Accept:"], "GET / HTTP/1.1|Host: [fe80::1]:81||"),
        ("http://[fe80::1%25lo]", ["Accept:"], "GET / HTTP/1.1|Host: [fe80::1]||"),
        ("http://user:password@example.com/#f", ["A: b:"], "GET / HTTP/1.1|Host: example.com|Accept: */*|A: b:||"),
        ("http://a/?", ["Accept:"], "GET /? HTTP/1.1|Host: a||"),
        ("http://a/ä b", ["Accept:"], "GET /%C3%A4%20b HTTP/1.1|Host: a||"),
        ("http://a/", ["Accept:", "Expect:", "X: ü"], "GET / HTTP/1.1|Host: a|X: ü||"),
    ]

    @Test(arguments: rows)
    func aHeadHasTheLinesOfTheRequest(_ row: (url: String, lines: [String], text: String)) throws {
        #expect(try Self.text(Self.options(row.url, "GET", row.lines)) == row.text)
    }

    @Test func theDefaultLinesAreThoseOfTheEngine() throws {
        let options = try Self.options("http://a/", "OPTIONS", nil)
        #expect(
            try Self.text(options, defaults: ["User-Agent: b"])
                == "OPTIONS / HTTP/1.1|Host: a|Accept: */*|User-Agent: b||")
        #expect(try Self.text(options, defaults: []) == "OPTIONS / HTTP/1.1|Host: a|Accept: */*||")
    }

    @Test func aTargetMayBeUnchangedOrTheServerItself() throws {
        let unchanged = try Self.options("http://a/x//../%7e?", "GET", ["Accept:"], unchanged: true)
        #expect(try Self.text(unchanged) == "GET /x//../%7e? HTTP/1.1|Host: a||")
        let server = try Self.options("http://a", "OPTIONS", ["Accept:"], unchanged: true)
        #expect(try Self.text(server) == "OPTIONS * HTTP/1.1|Host: a||")
        let root = try Self.options("http://a", "GET", ["Accept:"], unchanged: true)
        #expect(try Self.text(root) == "GET / HTTP/1.1|Host: a||")
    }

    /// The fields are kept for the next request only as long as they are the same.
    @Test func eachRequestHasItsOwnLines() throws {
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines(lines: ["D: 0"]))
        var bytes: [UInt8] = []
        for lines in [["A: 1"], ["A: 1"], ["A: 2"], nil, ["A: 1"], ["A: 1", "Host: b"], ["A: 1"]] {
            _ = try encoder.append(Self.options("http://a/", "GET", (lines ?? []) + ["Accept:"]), to: &bytes)
        }
        let heads = ["A: 1|", "A: 1|", "A: 2|", "", "A: 1|", nil, "A: 1|"].map {
            $0.map { "GET / HTTP/1.1|Host: a|\($0)|" } ?? "GET / HTTP/1.1|Host: b|A: 1||"
        }
        #expect(String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "|") == heads.joined())
    }

    // MARK: Proxies

    private static func route(_ proxy: EngineConfiguration.ProxyServer, connectTo: String? = nil) -> TransferRoute {
        var parts = TransferRoute.Parts()
        parts.proxy = proxy
        parts.connectTo = connectTo
        return TransferRoute(parts)
    }

    @Test func aProxyWithoutATunnelGetsTheWholeURL() throws {
        let proxy = EngineConfiguration.ProxyServer(
            host: "p", port: 1, credentials: .init(username: "Aladdin", password: "open sesame", isDigest: false))
        let route = Self.route(proxy)
        let fields = "Host: a:81|Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        #expect(
            try Self.text(Self.options("http://A:81?b", "GET", ["Accept:"], route: route))
                == "GET http://a:81/?b HTTP/1.1|\(fields)||")
        #expect(
            try Self.text(Self.options("http://a:81", "OPTIONS", ["Accept:"], route: route, unchanged: true))
                == "OPTIONS http://a:81 HTTP/1.1|\(fields)||")
        let zone = try Self.options("http://[fe80::1%25lo]/x", "GET", ["Accept:"], route: route)
        #expect(try Self.text(zone).hasPrefix("GET http://[fe80::1]/x HTTP/1.1|Host: [fe80::1]|"))
    }

    @Test func theServerBehindATunnelGetsThePathOnly() throws {
        let credentials = EngineConfiguration.ProxyServer.Credentials(username: "u", password: "p", isDigest: true)
        let digest = EngineConfiguration.ProxyServer(host: "p", port: 1, credentials: credentials)
        let socks = EngineConfiguration.ProxyServer(scheme: .socks5h, host: "p", port: 1, credentials: nil)
        let plain = EngineConfiguration.ProxyServer(host: "p", port: 1, credentials: nil)
        let expected = "GET /x HTTP/1.1|Host: a||"
        for route in [Self.route(digest), Self.route(socks), Self.route(plain, connectTo: "b:1")] {
            #expect(try Self.text(Self.options("http://a/x", "GET", ["Accept:"], route: route)) == expected)
        }
        let secure = try Self.options("https://a/x", "GET", ["Accept:"], route: Self.route(plain))
        #expect(try Self.text(secure) == expected)
        let switching = try Self.options("http://a/x", "GET", ["Accept:"], route: Self.route(plain), switches: true)
        #expect(try Self.text(switching) == expected)
    }

    /// A request to switch protocols goes through a tunnel, whose server must not get the credentials for the proxy.
    @Test func theFieldsForAProxyAreKeptForNoServer() throws {
        let proxy = EngineConfiguration.ProxyServer(
            host: "p", port: 1, credentials: .init(username: "u", password: "p", isDigest: false))
        let route = Self.route(proxy)
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines(lines: []))
        let heads = try [false, true, false].map { switches in
            var bytes: [UInt8] = []
            let lines = ["Accept:", "Connection: Upgrade", "Upgrade: x"]
            _ = try encoder.append(
                Self.options("http://a/", "GET", lines, route: route, switches: switches), to: &bytes)
            return String(decoding: bytes, as: UTF8.self).contains("\r\nProxy-Authorization: Basic dTpw\r\n")
        }
        #expect(heads == [true, false, true])
    }

    // MARK: Bodies

    @Test func aBodyInMemoryFollowsItsHead() throws {
        let options = try Self.options("http://a/", "POST", ["Accept:"], body: .bytes(Array("abc".utf8)))
        #expect(try Self.text(options) == "POST / HTTP/1.1|Host: a|Content-Length: 3||abc")
        let empty = try Self.options("http://a/", "POST", ["Accept:"], body: .bytes([]))
        #expect(try Self.text(empty) == "POST / HTTP/1.1|Host: a|Content-Length: 0||")
    }

    @Test func aBodyThatWaitsForTheServerDoesNotFollow() throws {
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines())
        var bytes: [UInt8] = []
        let lines = ["Accept:", "Expect:", "expect: 100-Continue"]
        let body = try encoder.append(
            Self.options("http://a/", "POST", lines, body: .bytes(Array("abc".utf8))), to: &bytes)
        #expect(body.traits == .expectsContinue && body.framing == .length(3) && !body.isComplete)
        #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("expect: 100-Continue\r\nContent-Length: 3\r\n\r\n"))
    }

    @Test func aBodyIsSentByItsLength() throws {
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines())
        var bytes: [UInt8] = []
        var body = try encoder.append(
            Self.options("http://a/", "PUT", ["Accept:"], body: .stream(length: 1_234_567_890_123)), to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\r\nContent-Length: 1234567890123\r\n\r\n"))
        bytes = []
        body.appendPrefix(of: 5, to: &bytes)
        #expect(bytes.isEmpty)
        let isWithin = body.didSend(1_234_567_890_120)
        #expect(isWithin && body.framing == .length(3) && !body.isComplete)
        let isStillWithin = body.didSend(3)
        #expect(isStillWithin && body.isComplete)
        let isBeyond = !body.didSend(1)
        #expect(isBeyond)
        try body.appendEnd(trailers: nil, to: &bytes)
        #expect(bytes.isEmpty)
    }

    @Test(arguments: [nil, ["X-Last: yes", "Content-Length: 7", "Y;"]])
    func aBodyIsSentInChunks(_ trailers: [String]?) throws {
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines())
        var bytes: [UInt8] = []
        let options = try Self.options(
            "http://a/", "PUT", ["Accept:"], body: .stream(length: trailers == nil ? nil : 31),
            hasTrailers: trailers != nil)
        var body = try encoder.append(options, to: &bytes)
        #expect(body.framing == .chunked)
        for text in ["", "abc", String(repeating: "x", count: 26), "de"] {
            body.appendPrefix(of: text.utf8.count, to: &bytes)
            bytes += text.utf8
        }
        try body.appendEnd(trailers: trailers.map { HeaderLines(lines: $0) }, to: &bytes)
        let end = trailers == nil ? "" : "X-Last: yes|Y:|"
        #expect(
            String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "|")
                == "PUT / HTTP/1.1|Host: a|Transfer-Encoding: chunked||3|abc|1a|xxxxxxxxxxxxxxxxxxxxxxxxxx|2|de|0|\(end)|"
        )
    }

    @Test(arguments: [1, 9, 10, 15, 16, 255, 256, 4095, 65_536, 1 << 30, Int.max])
    func theSizeOfAChunkIsHexadecimal(_ size: Int) throws {
        var body = HTTP1OutgoingBody(try Self.options("http://a/", "PUT", body: .stream(length: nil)), [])
        var bytes: [UInt8] = []
        body.appendPrefix(of: size, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == String(size, radix: 16) + "\r\n")
    }

    // MARK: Response

    @Test func theTraitsAreThoseOfTheRequest() throws {
        func traits(_ method: String, _ lines: [String], switches: Bool = false) throws -> HTTP1RequestTraits {
            var encoder = HTTP1RequestEncoder(defaults: HeaderLines(lines: ["Connection: close"]))
            var bytes: [UInt8] = []
            return try encoder.append(Self.options("http://a/", method, lines, switches: switches), to: &bytes).traits
        }
        #expect(try traits("GET", []) == [])
        #expect(try traits("HEAD", ["Connection: a, Close"]) == [.isHead, .closes])
        #expect(try traits("GET", ["Connection: Upgrade"], switches: true) == .switchesProtocols)
        #expect(try traits("GET", ["Connection:", "Expect:", "Expect;", "Expect: 101-continue"]) == [])
    }

    // MARK: Smuggling

    @Test(arguments: [
        ["A: 1\r\nB: 2"], ["A: 1\nB: 2"], ["A: 1\rB: 2"], ["A: 1\r\n"], ["no colon"], [": x"], ["a b: x"], ["A : 1"],
        [" A: 1"], ["A\r\n: 1"], [""], ["ä: 1"], ["A: 1", "\r\n"], ["A\r;"],
    ])
    func aLineThatIsNoFieldIsNotSent(_ lines: [String]) throws {
        #expect(throws: EngineFailure.self) { try Self.text(Self.options("http://a/", "GET", lines)) }
        #expect(throws: EngineFailure.self) {
            try Self.text(Self.options("http://a/", "GET", nil), defaults: lines)
        }
        var body = HTTP1OutgoingBody(try Self.options("http://a/", "PUT", body: .stream(length: nil)), [])
        var bytes: [UInt8] = []
        #expect(throws: EngineFailure.self) {
            try body.appendEnd(trailers: HeaderLines(lines: lines), to: &bytes)
        }
        #expect(bytes.isEmpty)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nX: y\r\n\r\nGET", "", "GE T", "GET\n", "GET\0", "G:T"])
    func aMethodThatIsNoTokenIsNotSent(_ method: String) throws {
        var encoder = HTTP1RequestEncoder(defaults: HeaderLines())
        var bytes = Array("before".utf8)
        #expect(throws: EngineFailure.self) { try encoder.append(Self.options("http://a/", method), to: &bytes) }
        #expect(bytes == Array("before".utf8), "no part of the head is left")
    }

    /// The framing is the sender's own.
    @Test(arguments: [
        "Content-Length: 5", "content-length;", "Transfer-Encoding: chunked", "TRANSFER-ENCODING: gzip, chunked",
    ])
    func fieldsOfTheFramingAreNotSent(_ line: String) throws {
        let expected = "PUT / HTTP/1.1|Host: a|B: 2|Content-Length: 1||!"
        let options = try Self.options("http://a/", "PUT", ["Accept:", line, "B: 2"], body: .bytes([0x21]))
        #expect(try Self.text(options) == expected)
    }
}
