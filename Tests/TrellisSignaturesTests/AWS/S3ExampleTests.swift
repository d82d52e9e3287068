import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// The examples in the documentation of Amazon S3, with their dates and keys.
struct S3ExampleTests {
    private static func signer(_ payload: AWSSigner.Payload = .signed) -> AWSSigner {
        var signer = AWSSigner(region: "us-east-1", service: "s3", now: { Date(timeIntervalSince1970: 1_369_353_600) })
        {
            AWSCredentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        }
        signer.payload = payload
        return signer
    }

    private static func signature(_ request: Request, _ signer: AWSSigner = signer()) async throws -> String {
        var wire = try WireRequest(request)
        try await signer.sign(&wire)
        let field = try #require(wire.headers["Authorization"])
        return String(field.suffix(64))
    }

    private static let bucket = "https://examplebucket.s3.amazonaws.com"

    @Test func aRangeOfAnObject() async throws {
        let request = Request("\(Self.bucket)/test.txt", headers: HTTPFields([("Range", "bytes=0-9")]))
        #expect(
            try await Self.signature(request) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    /// The name of the object is encoded once, however it is sent.
    @Test(arguments: ["test$file.text", "test%24file.text", "%74est$file.text"])
    func anObject(_ name: String) async throws {
        var fields: HTTPFields = [.date: "Fri, 24 May 2013 00:00:00 GMT"]
        fields["x-amz-storage-class"] = "REDUCED_REDUNDANCY"
        let request = Request(
            "\(Self.bucket)/\(name)", method: .put, headers: fields,
            body: .string("Welcome to Amazon S3.", contentType: nil))
        #expect(
            try await Self.signature(request) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func aQueryWithoutAValue() async throws {
        #expect(
            try await Self.signature(Request("\(Self.bucket)/?lifecycle"))
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func aQuery() async throws {
        #expect(
            try await Self.signature(Request("\(Self.bucket)/?max-keys=2&prefix=J"))
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func aPresignedURL() async throws {
        let url = try await Self.signer().presignedURL(for: "\(Self.bucket)/test.txt", expiringAfter: .seconds(86_400))
        #expect(
            url == "\(Self.bucket)/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test(arguments: ["X-Amz-Signature=1", "x-amz-expires=604800", "X%2DAmz-Date=1"])
    func aURLIsPresignedOnce(_ query: String) async throws {
        let error = await #expect(throws: TrellisError.self) {
            try await Self.signer().presignedURL(for: "\(Self.bucket)/test.txt?\(query)")
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .milliseconds(999), .seconds(604_801), .seconds(Int64.max)])
    func aURLExpiresWithinAWeek(_ time: Duration) async throws {
        await #expect(throws: TrellisError.self) {
            try await Self.signer().presignedURL(for: "\(Self.bucket)/test.txt", expiringAfter: time)
        }
    }

    /// Each part of the request changes the signature, in the field and in the URL.
    @Test func aChangedRequestHasAnotherSignature() async throws {
        let targets = [
            "/a/b?x=1&y=2", "/a//b?x=1&y=2", "/a/b?x=1&y=3", "/a/B?x=1&y=2", "/a%2Fb?x=1&y=2", "/a/b?x=1+y=2",
            "/a/b?x=1%20y=2",
        ]
        let requests =
            targets.map { Request("\(Self.bucket)\($0)") } + [
                Request("https://otherbucket.s3.amazonaws.com/a/b?x=1&y=2"), Request("\(Self.bucket):8443/a/b?x=1&y=2"),
                Request("\(Self.bucket)/a/b?x=1&y=2", method: .delete),
                Request("\(Self.bucket)/a/b?x=1&y=2", headers: HTTPFields([("Range", "bytes=0-1")])),
                Request("\(Self.bucket)/a/b?x=1&y=2", headers: HTTPFields([("Range", "bytes=0-2")])),
            ]
        var fields: Set<String> = []
        var urls: Set<String> = []
        for request in requests {
            fields.insert(try await Self.signature(request))
            urls.insert(String(try await Self.signer().presignedURL(for: request).suffix(64)))
        }
        #expect(fields.count == requests.count && urls.count == requests.count)
        var signed: Set<String> = []
        for body in ["a", "b", "a "] {
            signed.insert(try await Self.signature(Request("\(Self.bucket)/a", method: .put, body: .string(body))))
        }
        #expect(signed.count == 3)
    }

    // MARK: Chunks

    /// The body of 65 KiB in the pieces of a source.
    private static func body(piece: Int = 10_000) -> RequestBody {
        .stream(length: 66_560, contentType: nil) {
            AsyncStream<Data> { stream in
                var rest = 66_560
                while rest > 0 {
                    stream.yield(Data(repeating: UInt8(ascii: "a"), count: min(piece, rest)))
                    rest -= min(piece, rest)
                }
                stream.finish()
            }
        }
    }

    private static func upload(_ fields: HTTPFields = HTTPFields(), _ body: RequestBody = body()) -> Request {
        var fields = fields
        fields["x-amz-storage-class"] = "REDUCED_REDUNDANCY"
        return Request(
            "https://s3.amazonaws.com/examplebucket/chunkObject.txt", method: .put, headers: fields, body: body)
    }

    private static func signatures(_ body: String) -> [String] {
        body.split(separator: "\r\n").compactMap { line in
            for mark in [";chunk-signature=", "trailer-signature:"] {
                if let range = line.firstRange(of: mark) { return String(line[range.upperBound...]) }
            }
            return nil
        }
    }

    @Test(arguments: [100, 8_000, 65_536, 66_560]) func aBodyInChunks(_ piece: Int) async throws {
        var wire = try WireRequest(Self.upload(HTTPFields([("Content-Length", "66824")]), Self.body(piece: piece)))
        try await Self.signer(.chunked()).sign(&wire)
        #expect(
            wire.headers["Authorization"]?.hasSuffix("4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")
                == true)
        #expect(wire.headers["Content-Encoding"] == "aws-chunked")
        #expect(wire.headers["X-Amz-Decoded-Content-Length"] == "66560")
        let body = try #require(wire.body)
        #expect(try await body.length == 66_824)
        // A retry of the same exchange sends the same bytes.
        for _ in 0..<2 {
            let bytes = try await body.collect(upTo: 1 << 20)
            #expect(bytes.count == 66_824)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(
                Self.signatures(text) == [
                    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
                ])
            #expect(text.hasPrefix("10000;chunk-signature=ad80c730") && text.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func aBodyInChunksWithAChecksum() async throws {
        var wire = try WireRequest(Self.upload())
        try await Self.signer(.chunked(checksum: .crc32c)).sign(&wire)
        #expect(
            wire.headers["Authorization"]?.hasSuffix("106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e")
                == true)
        #expect(wire.headers["X-Amz-Trailer"] == "x-amz-checksum-crc32c")
        let body = try #require(wire.body)
        let bytes = try await body.collect(upTo: 1 << 20)
        #expect(try await body.length == Int64(bytes.count))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(
            Self.signatures(text) == [
                "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
                "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
                "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
                "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435",
            ])
        #expect(
            text.hasSuffix(
                "\r\nx-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:"
                    + "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n"))
    }

    /// The announced length is the length of the bytes, whatever the sizes are.
    @Test(arguments: [0, 1, 8191, 8192, 8193, 16_384, 100_000], [AWSChecksum.crc32c, .sha256, nil])
    func theLengthIsExact(_ count: Int, _ checksum: AWSChecksum?) async throws {
        var wire = try WireRequest(Self.upload(HTTPFields(), .data(Data(repeating: 7, count: count))))
        try await Self.signer(.chunked(size: 1, checksum: checksum)).sign(&wire)
        let body = try #require(wire.body)
        let bytes = try await body.collect(upTo: 1 << 20)
        #expect(try await body.length == Int64(bytes.count))
    }

    @Test func aBodyWithoutALengthHasNoChunks() async throws {
        let body = RequestBody.stream { AsyncStream<Data> { $0.finish() } }
        var wire = try WireRequest(Self.upload(HTTPFields(), body))
        let error = await #expect(throws: TrellisError.self) { try await Self.signer(.chunked()).sign(&wire) }
        #expect(error?.kind == .invalidRequest)
    }
}
