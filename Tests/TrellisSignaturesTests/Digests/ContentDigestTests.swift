import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// Digests of bodies (RFC 9530), of requests and of responses.
struct ContentDigestTests {
    private static let body = Data("hello".utf8)
    private static let sha256 = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
    private static let wrong = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"

    // MARK: Requests

    private static func signed(_ signer: ContentDigestSigner, _ request: Request) async throws -> HTTPFields {
        var wire = try WireRequest(request)
        try await signer.sign(&wire)
        return wire.headers
    }

    private static func request(_ body: RequestBody?) -> Request {
        Request("https://a.example/", method: .post, body: body)
    }

    /// The example of RFC 9530, appendix B.1, and of appendix D.
    @Test func aBodyGetsItsDigest() async throws {
        let request = Self.request(.data(Data("{\"hello\": \"world\"}\n".utf8)))
        let fields = try await Self.signed(ContentDigestSigner(), request)
        #expect(fields["Content-Digest"] == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:")
        let both = try await Self.signed(ContentDigestSigner([.sha512, .sha256], field: .representation), request)
        #expect(both["Content-Digest"] == nil)
        #expect(both["Repr-Digest"]?.hasPrefix("sha-512=:") == true)
        #expect(both["Repr-Digest"]?.hasSuffix(", sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:") == true)
    }

    @Test func aRequestWithoutABodyHasNone() async throws {
        #expect(try await Self.signed(ContentDigestSigner(), Self.request(nil))["Content-Digest"] == nil)
        let empty = try await Self.signed(ContentDigestSigner(), Self.request(.data(Data())))
        #expect(empty["Content-Digest"] == Self.wrong)
    }

    @Test func aDigestOfTheCallersIsKept() async throws {
        var request = Self.request(.data(Self.body))
        request.headers["Content-Digest"] = "a=:AA==:"
        #expect(try await Self.signed(ContentDigestSigner(), request)["Content-Digest"] == "a=:AA==:")
    }

    @Test func aBodyThatIsReadOnceHasNoDigest() async throws {
        let stream = AsyncStream<Data> { $0.finish() }
        let error = await #expect(throws: TrellisError.self) {
            try await Self.signed(ContentDigestSigner(), Self.request(.stream(stream)))
        }
        #expect(error?.kind == .bodyNotReplayable)
    }

    // MARK: Responses

    private struct Row: Sendable {
        var fields: [(String, String)] = []
        var trailers: [(String, String)] = []
        var method = HTTPRequest.Method.get
        var status = 200
        var body: Data? = ContentDigestTests.body
        var isAccepted = true
        var isAcceptedIfRequired = true
    }

    private static let rows: [Row] = [
        Row(fields: [("Content-Digest", sha256)]), Row(fields: [("Repr-Digest", sha256)]),
        Row(fields: [("Content-Digest", "md5=:AA==:, \(sha256)")]),
        Row(fields: [("Content-Digest", "md5=:AA==:"), ("Content-Digest", sha256)]),
        Row(trailers: [("Content-Digest", sha256)]),
        Row(isAcceptedIfRequired: false), Row(fields: [("Content-Digest", "md5=:AA==:")], isAcceptedIfRequired: false),
        Row(fields: [("Content-Digest", "sha-256=;")], isAcceptedIfRequired: false),
        Row(fields: [("Content-Digest", "SHA-256=:AA==:")], isAcceptedIfRequired: false),
        Row(fields: [("Content-Digest", wrong)], isAccepted: false),
        Row(fields: [("Repr-Digest", wrong)], isAccepted: false),
        Row(fields: [("Content-Digest", sha256), ("Repr-Digest", wrong)], isAccepted: false),
        Row(fields: [("Content-Digest", sha256)], trailers: [("Content-Digest", wrong)], isAccepted: false),
        Row(fields: [("Content-Digest", wrong)], trailers: [("Content-Digest", sha256)], isAccepted: false),
        Row(fields: [("Content-Digest", "sha-256=aa")], isAccepted: false),
        Row(fields: [("Content-Digest", "sha-256=:AA==:")], isAccepted: false),
        Row(fields: [("Content-Digest", "\(sha256), sha-512=:AA==:")], isAccepted: false),
        Row(fields: [("Content-Digest", sha256)], body: nil, isAccepted: false),
        Row(fields: [("Content-Digest", wrong)], body: Data()),
        Row(fields: [("Content-Digest", sha256)], body: Data("hellp".utf8), isAccepted: false),
        // A part, and the response to another method, have another representation.
        Row(fields: [("Repr-Digest", wrong)], status: 206, isAcceptedIfRequired: false),
        Row(fields: [("Repr-Digest", wrong)], method: .post, isAcceptedIfRequired: false),
        Row(fields: [("Content-Digest", wrong)], method: .head, body: Data()),
        Row(fields: [("Content-Digest", wrong)], status: 304, body: Data()),
        Row(fields: [("Content-Digest", wrong), ("Content-Encoding", "gzip")], isAccepted: false),
        Row(fields: [("Content-Digest", sha256), ("Content-Encoding", "gzip")]),
    ]

    @Test(arguments: rows.indices) func aResponseIsComparedWithItsDigests(_ index: Int) async throws {
        let row = Self.rows[index]
        let response = Response(
            head: ResponseHead(status: HTTPResponse.Status(code: row.status), headers: HTTPFields(row.fields)),
            url: "https://a.example/", trailers: HTTPFields(row.trailers))
        let answer = Answer(
            request: Request("https://a.example/", method: row.method), response: response, body: row.body)
        for isRequired in [false, true] {
            let isAccepted = row.isAccepted && (!isRequired || row.isAcceptedIfRequired)
            do {
                try await Validator.contentDigest(isRequired: isRequired).check(answer)
                #expect(isAccepted)
            } catch let error as TrellisError {
                #expect(!isAccepted && error.kind == .unacceptableDigest)
            }
        }
    }
}
