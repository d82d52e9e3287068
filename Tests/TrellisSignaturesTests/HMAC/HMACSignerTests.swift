import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// Signatures with a secret in a field, as webhooks have them.
struct HMACSignerTests {
    private static func field(_ signer: HMACSigner, _ request: Request) async throws -> String? {
        var wire = try WireRequest(request)
        try await signer.sign(&wire)
        return wire.headers[signer.field]
    }

    private static let request = Request(
        "https://a.example:8443/p%20q?b=2&a=1", method: .post, headers: HTTPFields([("X-A", "1"), ("X-A", "2")]),
        body: .string("Hello, World!"))

    /// The example in GitHub's documentation of webhooks.
    @Test func aWebhookAsGitHubSendsIt() async throws {
        let signer = HMACSigner.gitHub(secret: Array("It's a Secret to Everybody".utf8))
        #expect(
            try await Self.field(signer, Self.request)
                == "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
    }

    @Test func aWebhookAsStripeSendsIt() async throws {
        let signer = HMACSigner.stripe(secret: Array("key".utf8), now: { Date(timeIntervalSince1970: 1_492_774_577.5) })
        let code = MessageAuthenticationCode.code(
            Array("1492774577.Hello, World!".utf8), key: Array("key".utf8), .sha256)
        let digits = Hexadecimal.text(try #require(code))
        #expect(try await Self.field(signer, Self.request) == "t=1492774577,v1=\(digits)")
    }

    @Test func everyPartIsCovered() async throws {
        let parts: [(HMACSigner.Part, String)] = [
            ("text", "text"), (.method, "POST"), (.authority, "a.example:8443"), (.target, "/p%20q?b=2&a=1"),
            (.path, "/p%20q"), (.query, "b=2&a=1"), (.field("x-a"), "1, 2"), (.field("missing"), ""),
            (.body, "Hello, World!"), (.timestamp, "5"),
            (.bodyHash, "dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f"),
        ]
        for (part, text) in parts {
            let signer = HMACSigner(
                secret: Array("key".utf8), field: "S", covering: [part], value: [part, "=", .signature],
                now: { Date(timeIntervalSince1970: 5) })
            let code = MessageAuthenticationCode.code(Array(text.utf8), key: Array("key".utf8), .sha256)
            #expect(
                try await Self.field(signer, Self.request) == "\(text)=\(Hexadecimal.text(try #require(code)))".trimmed)
        }
    }

    @Test func theBytesHaveTheirEncoding() async throws {
        var signer = HMACSigner(secret: Array("key".utf8), field: "S", covering: ["text2"])
        #expect(try await Self.field(signer, Self.request)?.utf8.count == 64)
        signer.encoding = .base64
        let base64 = try #require(try await Self.field(signer, Self.request))
        #expect(Data(base64Encoded: base64)?.count == 32)
        signer.encoding = .base64URL
        #expect(
            try await Self.field(signer, Self.request)
                == base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ""))
        (signer.encoding, signer.hash) = (.hexadecimal, .sha512)
        #expect(try await Self.field(signer, Self.request)?.utf8.count == 128)
    }

    @Test func whatCannotBeSignedIsAnError() async throws {
        let stream = Request("https://a.example/", method: .post, body: .stream(AsyncStream<Data> { $0.finish() }))
        let secret = Array("key".utf8)
        var small = HMACSigner(secret: secret, field: "S", covering: [.body])
        small.maximumBodySize = 12
        let rows: [(HMACSigner, Request, TrellisError.Kind)] = [
            (HMACSigner(secret: [], field: "S", covering: [.body]), Self.request, .invalidRequest),
            (HMACSigner(secret: secret, field: "S", covering: [.signature]), Self.request, .invalidRequest),
            (HMACSigner(secret: secret, field: "S", covering: [.body]), stream, .invalidRequest),
            (HMACSigner(secret: secret, field: "S", covering: [.bodyHash]), stream, .bodyNotReplayable),
            (small, Self.request, .invalidRequest),
        ]
        for (signer, request, kind) in rows {
            let error = await #expect(throws: TrellisError.self) { try await Self.field(signer, request) }
            #expect(error?.kind == kind)
        }
    }

    @Test func aSignerShowsNoSecret() {
        let signer = HMACSigner(secret: Array("key".utf8), field: "S", covering: [.body])
        var dumped = ""
        dump(signer, to: &dumped)
        #expect(!dumped.contains("107") && !"\(signer)".contains("107"))
    }
}

extension String {
    /// The text as a field has it.
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
