import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// The values of components (RFC 9421, section 2).
struct SignedMessageTests {
    private static func request(
        _ url: String, method: HTTPRequest.Method = .get, _ fields: [(String, String)] = [], isUnchanged: Bool = false
    ) throws -> WireRequest {
        var request = Request(url, method: method, headers: HTTPFields(fields))
        request.sendsURLUnchanged = isUnchanged
        return try WireRequest(request)
    }

    private static let derived: [(String, SignatureComponent, String?)] = [
        ("https://www.example.com/path?param=value", .method, "GET"),
        ("https://www.example.com/path?param=value", .targetURI, "https://www.example.com/path?param=value"),
        ("https://WWW.Example.com:443/path", .targetURI, "https://www.example.com/path"),
        ("http://www.example.com", .targetURI, "http://www.example.com/"),
        ("https://www.example.com:443/", .authority, "www.example.com"),
        ("http://www.example.com:443/", .authority, "www.example.com:443"),
        ("http://www.example.com:80/", .authority, "www.example.com"), ("http://[::1]:80/", .authority, "[::1]"),
        ("http://[::1]:8080/", .authority, "[::1]:8080"), ("http://a.example./", .authority, "a.example."),
        ("https://a.example/", .scheme, "https"), ("https://a.example/p?a=1", .requestTarget, "/p?a=1"),
        ("https://a.example/p?a=1", .path, "/p"), ("https://a.example?a=1", .path, "/"),
        ("https://a.example/caf\u{E9} b", .path, "/caf%C3%A9%20b"), ("https://a.example/p", .query, "?"),
        ("https://a.example/p?", .query, "?"), ("https://a.example/p?a=1&b", .query, "?a=1&b"),
        ("https://a.example/p?baz=batman&qux=&param=value", .queryParameter("baz"), "batman"),
        ("https://a.example/p?baz=batman&qux=&param=value", .queryParameter("qux"), ""),
        ("https://a.example/p?baz", .queryParameter("baz"), ""),
        (
            "https://a.example/p?var=this%20is%20a%20big%0Amultiline%20value", .queryParameter("var"),
            "this%20is%20a%20big%0Amultiline%20value"
        ), ("https://a.example/p?bar=with+plus+whitespace", .queryParameter("bar"), "with%20plus%20whitespace"),
        ("https://a.example/p?fa%C3%A7ade%22%3A%20=something", .queryParameter("fa\u{E7}ade\": "), "something"),
        ("https://a.example/p?a=1&a=2", .queryParameter("a"), nil),
        ("https://a.example/p?a=1&%61=2", .queryParameter("a"), nil),
        ("https://a.example/p?a=1", .queryParameter("b"), nil), ("https://a.example/p", .status, nil),
        ("https://a.example/p", "@signature-params", nil), ("https://a.example/p", "@other", nil),
        ("https://a.example/p", "@query-param", nil), ("https://a.example/p", SignatureComponent.method.ofRequest, nil),
        ("https://a.example/p", SignatureComponent.method.structured, nil),
    ]

    @Test(arguments: derived) func derivedComponentsHaveTheirValues(
        _ url: String, _ component: SignatureComponent, _ value: String?
    ) throws {
        let message = SignedMessage(try Self.request(url))
        #expect((try? message.value(of: component)) == value)
    }

    /// What cannot be signed does not stay out of the signature unnoticed.
    @Test func anOptionalComponentIsSignedOrAnError() throws {
        let rows: [([(String, String)], SignatureComponent, isSigned: Bool?)] = [
            ([("Content-Type", "text/plain")], "content-type", true), ([], "content-type", false),
            ([("Content-Type", "text/pl\u{E9}n")], "content-type", nil),
            ([("Priority", "u=1")], .field("priority").member("u"), true),
            ([("Priority", "i")], .field("priority").member("u"), false),
            ([("Priority", "u=1,")], .field("priority").member("u"), nil),
            ([], .queryParameter("a"), nil), ([], .queryParameter("b"), true), ([], .queryParameter("c"), false),
        ]
        for (fields, component, isSigned) in rows {
            var wire = try Self.request("http://a.example/?a=1&a=2&b=3", fields)
            var signer = MessageSigner(key: sharedKey, components: [.method], now: { exampleTime })
            signer.optionalComponents = [component]
            let outcome = Result { try signer.sign(&wire) }
            let input = wire.headers["Signature-Input"]
            switch isSigned {
            case let isSigned?: #expect(input?.contains(component.item.text) == isSigned, "\(component) \(fields)")
            case nil: #expect(throws: TrellisError.self, "\(component) \(fields)") { try outcome.get() }
            }
        }
    }

    @Test func theWholeServerHasNoPath() throws {
        let message = SignedMessage(try Self.request("http://a.example/", method: .options))
        #expect(try message.value(of: .targetURI) == "http://a.example/")
        #expect(try message.value(of: .method) == "OPTIONS")
    }

    private static let fields: [(String, String)] = [
        ("X-OWS", "  Leading and trailing whitespace.   "), ("Cache-Control", "max-age=60"),
        ("Cache-Control", "   must-revalidate"), ("Example-Dict", " a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        ("Empty", ""), ("X-Latin", "caf\u{E9}"), ("Example-List", "a,b , (c  d)"), ("Priority", "u=1,   i"),
        ("Priority", "u=2"), ("X-Tab", "a\tb"), ("Content-Digest", "nothing of the kind,"),
    ]

    private static let values: [(SignatureComponent, String?)] = [
        ("x-ows", "Leading and trailing whitespace."), ("cache-control", "max-age=60, must-revalidate"),
        ("Cache-Control", "max-age=60, must-revalidate"),
        ("example-dict", "a=1,    b=2;x=1;y=2,   c=(a   b   c), d"), ("empty", ""),
        (.field("example-dict").structured, "a=1, b=2;x=1;y=2, c=(a b c), d"),
        (.field("example-dict").member("a"), "1"),
        (.field("example-dict").member("b"), "2;x=1;y=2"), (.field("example-dict").member("c"), "(a b c)"),
        (.field("example-dict").member("d"), "?1"), (.field("example-dict").member("e"), nil),
        (.field("example-list").structured, "a, b, (c d)"), (.field("priority").structured, "u=2, i"),
        ("priority", "u=1,   i, u=2"), (.field("priority").member("u"), "2"), ("x-latin", nil),
        (.field("x-latin").bytes, ":Y2Fmw6k=:"),
        (.field("cache-control").bytes, ":bWF4LWFnZT02MA==:, :bXVzdC1yZXZhbGlkYXRl:"),
        (.field("empty").bytes, "::"), (.field("empty").structured, nil), ("missing", nil), ("host", nil),
        ("x-tab", "a\tb"), (.field("content-digest").structured, nil), (.field("content-digest").member("a"), nil),
        (.field("priority").bytes.structured, nil), (.field("priority").bytes.member("u"), nil),
        (.field("priority").ofRequest, nil), (.field("priority").ofTrailers, nil),
        (SignatureComponent(name: "priority", [StructuredParameter("other", .boolean(true))]), nil),
        (SignatureComponent(name: "priority", [StructuredParameter("sf", .boolean(false))]), nil),
        (SignatureComponent(name: "priority", [StructuredParameter("key", .integer(1))]), nil),
    ]

    @Test(arguments: values) func fieldsHaveTheirValues(_ component: SignatureComponent, _ value: String?) throws {
        let message = SignedMessage(
            try Self.request("https://a.example/", Self.fields),
            types: ["example-dict": .dictionary, "example-list": .list])
        #expect((try? message.value(of: component)) == value)
    }

    @Test func aResponseHasItsPartsAndThoseOfItsRequest() throws {
        let request = try Self.request("https://a.example/p?a=1", method: .post, [("X-A", "request"), ("X-B", "b")])
        let response = Response(
            head: ResponseHead(status: .init(code: 503), headers: HTTPFields([("X-A", "response")])),
            url: "https://a.example/p?a=1", trailers: HTTPFields([("X-T", "trailer")]))
        let message = SignedMessage(request, response: response)
        #expect(try message.value(of: .status) == "503")
        #expect(try message.value(of: "x-a") == "response")
        #expect(try message.value(of: .field("x-a").ofRequest) == "request")
        #expect(try message.value(of: .field("x-t").ofTrailers) == "trailer")
        #expect(try message.value(of: .method.ofRequest) == "POST")
        #expect(try message.value(of: .targetURI.ofRequest) == "https://a.example/p?a=1")
        for other: SignatureComponent in [.method, "x-b", "x-t", .status.ofRequest, .field("x-a").ofTrailers] {
            #expect(throws: SignedMessage.Failure.self) { try message.value(of: other) }
        }
    }

    @Test func noComponentIsCoveredTwice() throws {
        let message = SignedMessage(try Self.request("https://a.example/", [("A", "x=1")]))
        let twice = SignatureInput([.method, "@method"], [])
        #expect(throws: SignedMessage.Failure.self) { try twice.base(of: message) }
        let different = SignatureInput(["a", .field("a").member("x")], [])
        #expect(
            try different.base(of: message)
                == "\"a\": x=1\n\"a\";key=\"x\": 1\n\"@signature-params\": (\"a\" \"a\";key=\"x\")")
    }

    /// The order of a component's parameters has no meaning.
    @Test func aComponentIsCoveredInAnyOrderOfItsParameters() throws {
        let member = try #require(StructuredDictionary(parsing: ["s=(\"a\";req;key=\"x\")"])?["s"])
        let input = try #require(SignatureInput(member))
        #expect(input.covers(.field("a").member("x").ofRequest) && input.covers(.field("a").ofRequest.member("x")))
        #expect(!input.covers("a") && !input.covers(.field("a").member("x")))
        for text in ["s=(a)", "s=(\"A\")", "s=1", "s=(\"\")", "s"] {
            let member = try #require(StructuredDictionary(parsing: [text])?["s"])
            #expect(SignatureInput(member) == nil, "\(text)")
        }
    }
}
