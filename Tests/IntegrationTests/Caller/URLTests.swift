import Testing
import Trellis
import TrellisTesting

/// URLs of a caller are encoded for the wire, or refused.
@Suite(.timeLimit(.minutes(3)))
struct URLTests {
    @Test(
        arguments: [
            "", " ", "/users", "users", "?q=1", "#top", "//example.com/", "example.com", "example.com:80/",
            "ftp://example.com/",
            "file:///etc/passwd", "javascript:alert(1)", "mailto:a@example.com", "http:", "http://", "http:///path",
            "https://?q",
            "http://:80/", "http://example.com:port/", "http://example.com:99999/", "http://example.com:-1/",
            "http://[::1/",
            "http://[::1]x/", "http://[zz]/", "http://exa mple.com/", "http://exa\nmple.com/", "http://exa\0mple.com/",
            "http://example.com/\n", "http://example.com/\r\nInjected: 1", "http://example.com/\0", "http://%00/",
        ] as [Escaped])
    func isRefused(_ url: Escaped) async throws {
        let server = try Misbehaviour { _, _ in }
        let error = await server.fails(with: .invalidURL, sending: Request(url.text))
        #expect(error?.mayHaveSentBytes == false)
        #expect(error?.isRetryable == false)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A host of more than 255 characters is refused, because RFC 3986, section 3.2.2, allows no more, and DNS does not either.
    @Test(arguments: [256, 1000, 66_000])
    func anOverlongHostIsRefused(_ length: Int) async throws {
        let server = try Misbehaviour { _, _ in }
        let host = String(repeating: "abcdefg.", count: length / 8 + 1).prefix(length - 1) + "z"
        let error = await server.fails(with: .invalidURL, sending: Request("http://\(host)/"))
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false)
        // libcurl itself refuses a name that is longer than 65535 bytes, in other words.
        if length < 66_000 { #expect(error?.description.contains("its host is longer than 255 bytes") == true) }
        try await server.isHealthyAndLeavesNothing()
    }

    /// A path is encoded for the wire. Each row has a path as given, and the target of the request.
    @Test(arguments: [
        ("", "/"), ("?q=1", "/?q=1"), ("/a b", "/a%20b"), ("/ü", "/%C3%BC"), ("/日本", "/%E6%97%A5%E6%9C%AC"),
        ("/a?q=ä ö&r=1", "/a?q=%C3%A4%20%C3%B6&r=1"), ("/a%20b%2Fc", "/a%20b%2Fc"), ("/a#fragment", "/a"),
        ("/a?q#fragment", "/a?q"), ("/a/../b/./c", "/b/c"), ("/'!$&()*+,;=:@~-._", "/'!$&()*+,;=:@~-._"),
        ("/a//b", "/a//b"),
        ("/\u{1F600}", "/%F0%9F%98%80"), ("/a?b?c=d/e", "/a?b?c=d/e"),
    ])
    func isEncoded(_ path: String, _ target: String) async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session()
        let (_, response) = try await session.data(server.url(path))
        #expect(response.status == .ok)
        #expect(server.requests.map(\.target) == [target])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// An international host is converted to Punycode. Names below `localhost` are not looked up.
    @Test func internationalHostIsPunycode() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session()
        _ = try await session.data("http://bücher.localhost:\(server.port)/")
        #expect(server.requests.first?["Host"] == "xn--bcher-kva.localhost:\(server.port)")
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func ipv6HostAndPort() async throws {
        let server = try LoopbackServer.http(on: .ipv6) { _ in .text("ok") }
        let session = Session()
        _ = try await session.data(server.url())
        #expect(server.requests.first?["Host"] == "[::1]:\(server.port)")
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func unixSocket() async throws {
        let path = try temporaryFolder("unix") + "/socket"
        let server = try LoopbackServer.http(on: .unix(path: path)) { _ in .text("ok") }
        var configuration = SessionConfiguration()
        configuration.route = try .unixSocket(path)
        let session = Session(configuration: configuration)
        let (data, _) = try await session.data(server.url("/a"))
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
