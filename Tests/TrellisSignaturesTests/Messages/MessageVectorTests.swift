import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// The examples of RFC 9421, appendix B.2: the same bytes are signed, and the signatures are valid.
struct MessageVectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let section: String
        let key: String
        let input: String
        let signature: String
        /// The signature is always the same.
        var isFixed = false
        var isOfResponse = false
        var testDescription: String { section }
    }

    static let vectors = [
        Vector(
            section: "B.2.1", key: RFCKeys.pssPublic,
            input: #"();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd""#,
            signature:
                "d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXaJMkA7ChG52"
                + "eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA"
                + "4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q"
                + "=="),
        Vector(
            section: "B.2.2", key: RFCKeys.pssPublic,
            input:
                #"("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss""#
                + #";tag="header-example""#,
            signature:
                "LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkSowOB4+ECxCmT8r"
                + "tAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh62s7Cl+H2fjBSpqfZ"
                + "UJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw"
                + "=="),
        Vector(
            section: "B.2.3", key: RFCKeys.pssPublic,
            input: #"("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length")"#
                + #";created=1618884473;keyid="test-key-rsa-pss""#,
            signature:
                "bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb38K0fUxN"
                + "0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipw"
                + "vKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA"
                + "=="),
        Vector(
            section: "B.2.4", key: RFCKeys.p256Public,
            input: #"("@status" "content-type" "content-digest" "content-length");created=1618884473"#
                + #";keyid="test-key-ecc-p256""#,
            signature: "wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==",
            isOfResponse: true),
        Vector(
            section: "B.2.5", key: "",
            input: #"("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#,
            signature: "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=", isFixed: true),
        Vector(
            section: "B.2.6", key: RFCKeys.ed25519Private,
            input: #"("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473"#
                + #";keyid="test-key-ed25519""#,
            signature: "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
            isFixed: true),
    ]

    private static func request(
        _ method: HTTPRequest.Method = .post, _ url: String = "https://example.com/foo?param=Value&Pet=dog",
        _ change: (inout HTTPFields) -> Void = { _ in }
    ) throws -> WireRequest {
        var fields: HTTPFields = [.date: "Tue, 20 Apr 2021 02:07:55 GMT", .contentType: "application/json"]
        fields["Content-Digest"] =
            "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
        fields["Content-Length"] = "18"
        change(&fields)
        return try WireRequest(
            Request(url, method: method, headers: fields, body: .data(Data(#"{"hello": "world"}"#.utf8))))
    }

    private static func response(_ status: Int = 200, _ change: (inout HTTPFields) -> Void = { _ in }) -> Response {
        var fields: HTTPFields = [.date: "Tue, 20 Apr 2021 02:07:56 GMT", .contentType: "application/json"]
        fields["Content-Digest"] =
            "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"
        fields["Content-Length"] = "23"
        change(&fields)
        return Response(
            head: ResponseHead(status: .init(code: status), headers: fields), url: "https://example.com/")
    }

    private static func key(_ vector: Vector) throws -> SignatureKey {
        vector.key.isEmpty
            ? sharedKey : try .pem(vector.key)
    }

    private static func message(_ vector: Vector) throws -> SignedMessage {
        SignedMessage(try request(), response: vector.isOfResponse ? response() : nil)
    }

    private static func input(_ vector: Vector) throws -> SignatureInput {
        let dictionary = try #require(StructuredDictionary(parsing: ["sig=\(vector.input)"]))
        let member = try #require(dictionary["sig"])
        return try #require(SignatureInput(member))
    }

    @Test(arguments: vectors) func theSignatureIsValid(_ vector: Vector) throws {
        let input = try Self.input(vector)
        #expect(input.member.text == vector.input)
        let base = Array(try input.base(of: Self.message(vector)).utf8)
        let signature = Array(try #require(Data(base64Encoded: vector.signature)))
        let key = try Self.key(vector)
        #expect(key.isSignature(signature, of: base))
        if vector.isFixed { #expect(try key.signature(of: base) == signature) }
    }

    /// Every byte of what is covered counts.
    @Test(arguments: vectors.filter { $0.key.isEmpty || $0.key == RFCKeys.ed25519Private || $0.isOfResponse })
    func aChangedByteIsNotValid(_ vector: Vector) throws {
        let base = Array(try Self.input(vector).base(of: Self.message(vector)).utf8)
        let signature = Array(try #require(Data(base64Encoded: vector.signature)))
        let key = try Self.key(vector)
        for index in base.indices {
            var changed = base
            changed[index] ^= 1
            #expect(!key.isSignature(signature, of: changed), "\(index)")
        }
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.isSignature(changed, of: base), "\(index)")
        }
        #expect(!key.isSignature(signature.dropLast(), of: base))
        #expect(!key.isSignature(signature + [0], of: base))
        #expect(!key.isSignature([], of: base))
    }

    /// What the signer makes is the example's, also as fields.
    @Test func theSignerMakesTheExample() async throws {
        let vector = try #require(Self.vectors.last)
        let key = try SignatureKey.pem(RFCKeys.ed25519Private, id: "test-key-ed25519")
        var signer = MessageSigner(
            key: key, components: ["date", .method, .path, .authority, "content-type", "content-length"],
            now: { Date(timeIntervalSince1970: 1_618_884_473.9) })
        (signer.label, signer.optionalComponents) = ("sig-b26", [])
        var request = try Self.request()
        try signer.sign(&request)
        #expect(request.headers["Signature-Input"] == "sig-b26=\(vector.input)")
        #expect(request.headers["Signature"] == "sig-b26=:\(vector.signature):")
    }

    /// Each change after signing, of the request that B.2.3 covers as a whole.
    @Test func aChangedRequestHasAnotherBase() throws {
        let input = try Self.input(Self.vectors[2])
        let base = try input.base(of: SignedMessage(try Self.request()))
        let changed = [
            try Self.request(.put), try Self.request(.post, "https://example.com/Foo?param=Value&Pet=dog"),
            try Self.request(.post, "https://example.com/foo?param=Value&Pet=cat"),
            try Self.request(.post, "https://example.com/foo?Pet=dog&param=Value"),
            try Self.request(.post, "https://example.com/foo"), try Self.request(.post, "https://example.com/foo?"),
            try Self.request(.post, "https://example.com:8443/foo?param=Value&Pet=dog"),
            try Self.request(.post, "https://example.org/foo?param=Value&Pet=dog"),
            try Self.request { $0[.date] = "Tue, 20 Apr 2021 02:07:56 GMT" },
            try Self.request { $0[.contentType] = "application/jsoN" },
            try Self.request { $0.append(HTTPField(name: .contentType, value: "text/plain")) },
            try Self.request { $0["Content-Length"] = "19" },
        ]
        for request in changed { #expect(try input.base(of: SignedMessage(request)) != base) }
        // The same request in other words.
        let same = [
            try Self.request(.post, "HTTPS://EXAMPLE.com:443/foo?param=Value&Pet=dog"),
            try Self.request { $0[.contentType] = "  application/json " },
            try Self.request { $0["X-Other"] = "1" }, try Self.request { $0["Host"] = "Example.COM:443" },
        ]
        for request in same { #expect(try input.base(of: SignedMessage(request)) == base) }
    }
}
