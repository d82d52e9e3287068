import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// The keys of requests that can share a response.
struct RequestCoalescingKeyTests {
    static let url = "http://a.example/?q=1"
    static let fields: HTTPFields = [.accept: "a/b", .userAgent: "x"]

    @Test(
        arguments: [
            ("GET", nil, true), ("HEAD", nil, true), ("POST", nil, false), ("OPTIONS", nil, false),
            ("QUERY", nil, false), ("PUT", nil, false), ("GET", "x", false),
        ] as [(String, String?, Bool)])
    func safeRequestsWithoutABody(_ method: String, _ body: String?, _ isShared: Bool) throws {
        let method = try #require(HTTPRequest.Method(method))
        let request = Request(Self.url, method: method, body: body.map { .string($0) })
        #expect((CoalescingKey(request) != nil) == isShared)
    }

    static let request = Request(url, headers: fields)

    @Test(arguments: [
        request,
        Request("\(url)#top", headers: fields),
        Request(url, headers: [.userAgent: "x", .accept: "a/b"]),
        Request(url, headers: HTTPFields([HTTPField(name: .accept, value: "a/b")]))
            .addingHeader(HTTPField(name: .init("user-AGENT") ?? .userAgent, value: "x")),
    ])
    func theseAreTheSame(_ request: Request) {
        #expect(CoalescingKey(request) == CoalescingKey(Self.request))
    }

    @Test(arguments: [
        Request("http://a.example/?q=2", headers: fields), Request("http://b.example/?q=1", headers: fields),
        request.withMethod(.head), request.withHeader(.accept("c/d")), request.withoutHeader(.accept),
        request.withAuthorization(bearerToken: "x"), request.addingHeader(.accept("a/b")),
        request.withTimeouts(Timeouts(total: .seconds(1))), request.withHTTPVersion(.http1Only),
        request.withMaximumBodySize(.bytes(1)), request.withContentDecoding(false),
        request.withPriority(.high), request.withEndpointKey("x"),
        Request(url, headers: HTTPFields([.accept("a/b:user-agent"), .userAgent("x")])),
    ])
    func theseAreNot(_ request: Request) {
        #expect(CoalescingKey(request) != CoalescingKey(Self.request))
    }

    /// Texts that Swift considers equal have different keys, since the server gets different bytes.
    @Test(arguments: [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}"), ("\u{C5}", "\u{212B}")])
    func twoSpellingsOfOneTextAreNot(_ one: String, _ other: String) {
        #expect(one == other)
        let keys = [one, other].map { CoalescingKey(Request("\(Self.url)&r=\($0)")) }
        #expect(keys[0] != keys[1])
        let fields = [one, other].map { CoalescingKey(Self.request.withHeader(.userAgent($0))) }
        #expect(fields[0] != fields[1])
    }

    @Test(arguments: JoiningScalars.all)
    func aFragmentIsNotSentWhateverJoinsItsMark(_ scalar: Unicode.Scalar) {
        #expect(
            CoalescingKey(Request("\(Self.url)#\(scalar)x", headers: Self.fields))
                == CoalescingKey(Self.request))
    }

    @Test func theOrderWithinANameCounts() {
        let one = Request(Self.url, headers: [.accept("a/b"), .accept("c/d")])
        let other = Request(Self.url, headers: [.accept("c/d"), .accept("a/b")])
        #expect(CoalescingKey(one) != CoalescingKey(other))
    }
}
