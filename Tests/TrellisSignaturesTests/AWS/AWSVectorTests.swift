import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// The published suite of AWS Signature Version 4, and the examples in the documentation of Amazon S3.
struct AWSVectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let method: String
        let target: String
        let fields: [(String, String)]
        let body: String?
        let token: String?
        let signature: String

        init(
            _ name: String, _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String? = nil,
            token: String? = nil, signature: String
        ) {
            (self.name, self.method, self.target, self.fields) = (name, method, target, fields)
            (self.body, self.token, self.signature) = (body, token, signature)
        }

        var testDescription: String { name }

        /// The request as the suite has it: its path is the text that is encoded once.
        func request() throws -> Request {
            var request = Request(
                "https://example.amazonaws.com\(target)", method: try #require(HTTPRequest.Method(method)),
                headers: HTTPFields(fields),
                body: body.map { .data(Data($0.utf8)) })
            request.sendsURLUnchanged = target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            return request
        }

        func signer() -> AWSSigner {
            var signer = AWSSigner(
                region: "us-east-1", service: "service", now: { Date(timeIntervalSince1970: 1_440_938_160) }
            ) {
                AWSCredentials(
                    accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                    sessionToken: token)
            }
            // The suite encodes the characters of these two paths once.
            if ["get-utf8", "get-space"].contains(name) { signer.pathRule = .s3 }
            return signer
        }
    }

    static let vectors: [Vector] = [
        .init(
            "get-header-key-duplicate", "GET", "/",
            [("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1")],
            signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
        .init(
            "get-header-value-multiline", "GET", "/", [("My-Header1", "value1   value2      value3")],
            signature: "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"),
        .init(
            "get-header-value-order", "GET", "/",
            [("My-Header1", "value4"), ("My-Header1", "value1"), ("My-Header1", "value3"), ("My-Header1", "value2")],
            signature: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
        .init(
            "get-header-value-trim", "GET", "/", [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        .init(
            "get-unreserved", "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        .init(
            "get-utf8", "GET", "/\u{1234}",
            signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        .init(
            "get-vanilla-empty-query-key", "GET", "/?Param1=value1",
            signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        .init(
            "get-vanilla-query-order-encoded", "GET", "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
        .init(
            "get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1",
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        .init(
            "get-vanilla-query-order-key", "GET", "/?Param1=value2&Param1=Value1",
            signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"),
        .init(
            "get-vanilla-query-order-value", "GET", "/?Param1=value2&Param1=value1",
            signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"),
        .init(
            "get-vanilla-query-unreserved", "GET",
            "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        .init(
            "get-vanilla-query", "GET", "/",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        .init(
            "get-vanilla-utf8-query", "GET", "/?\u{1234}=bar",
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        .init(
            "get-vanilla-with-session-token", "GET", "/",
            token: "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
            signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
        .init("get-vanilla", "GET", "/", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        .init(
            "get-relative-relative", "GET", "/example1/example2/../..",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        .init(
            "get-relative", "GET", "/example/..",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        .init(
            "get-slash-dot-slash", "GET", "/./",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        .init(
            "get-slash-pointless-dot", "GET", "/./example",
            signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"),
        .init("get-slash", "GET", "//", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        .init(
            "get-slashes", "GET", "//example//",
            signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
        .init(
            "get-space", "GET", "/example space/",
            signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        .init(
            "get-special-character", "GET", "/example/$delete",
            signature: "a853c9b21b528b19643d00910d35b83a10c366a10833ceefb45edd6c80e40f27"),
        .init(
            "post-header-key-case", "POST", "/",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        .init(
            "post-header-key-sort", "POST", "/", [("My-Header1", "value1")],
            signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        .init(
            "post-header-value-case", "POST", "/", [("My-Header1", "VALUE1")],
            signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
        .init(
            "post-sts-header-after", "POST", "/",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        .init(
            "post-sts-header-before", "POST", "/",
            token:
                "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==",
            signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
        .init(
            "post-vanilla-empty-query-value", "POST", "/?Param1=value1",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        .init(
            "post-vanilla-query", "POST", "/?Param1=value1",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        .init(
            "post-vanilla", "POST", "/", signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        .init(
            "post-x-www-form-urlencoded-parameters", "POST", "/",
            [("Content-Type", "application/x-www-form-urlencoded; charset=utf8")], body: "Param1=value1",
            signature: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"),
        .init(
            "post-x-www-form-urlencoded", "POST", "/", [("Content-Type", "application/x-www-form-urlencoded")],
            body: "Param1=value1", signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
    ]

    @Test(arguments: vectors) func theFieldHasTheSignature(_ vector: Vector) async throws {
        var request = try WireRequest(vector.request())
        try await vector.signer().sign(&request)
        let field = try #require(request.headers["Authorization"])
        #expect(field.hasSuffix("Signature=\(vector.signature)"), "\(field)")
        #expect(
            field.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="))
        #expect(request.headers["X-Amz-Date"] == "20150830T123600Z")
        #expect(request.headers["X-Amz-Security-Token"] == vector.token)
    }

    /// S3's paths are not normalized: the suite's `get-slash-dot-slash-unnormalized`.
    @Test func aPathOfS3IsSignedAsItIs() async throws {
        let vector = try #require(Self.vectors.first { $0.name == "get-slash-dot-slash" })
        var signer = vector.signer()
        signer.pathRule = .s3
        var request = try WireRequest(vector.request())
        try await signer.sign(&request)
        let signature = "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145"
        #expect(request.headers["Authorization"]?.hasSuffix(signature) == true)
    }

    private static let presigned: [(String, String)] = [
        ("get-header-value-trim", "e7bb0fd515e125e1aec2ecc4c0c17484fb06f6846b927c35e46005dd3df3acd4"),
        ("get-vanilla-utf8-query", "0bdd809b1519ac4f0c1dc3540e2cc46bd0c7f778eda408b2ebf3b913d21ff600"),
        ("get-vanilla-query-order-encoded", "c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787"),
        ("get-vanilla-with-session-token", "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c"),
    ]

    @Test(arguments: presigned) func theQueryHasTheSignature(_ name: String, _ signature: String) async throws {
        let vector = try #require(Self.vectors.first { $0.name == name })
        let url = try await vector.signer().presignedURL(for: vector.request(), expiringAfter: .seconds(3600))
        #expect(url.hasSuffix("&X-Amz-Signature=\(signature)"), "\(url)")
    }
}
