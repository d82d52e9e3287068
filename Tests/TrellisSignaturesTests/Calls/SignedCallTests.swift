import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisSignatures

/// Signers in calls over a mock transport: what a server gets is what was signed.
@Suite(.timeLimit(.minutes(3)))
struct SignedCallTests {
    private static let components: [SignatureComponent] = [.method, .targetURI, "user-agent", "x-team"]

    private static func session(
        _ signers: [any RequestSigner], configured change: (inout SessionConfiguration) -> Void = { _ in },
        responding respond: @escaping @Sendable (Int, TransportRequest) -> MockResponse = { _, _ in .text("ok") }
    ) -> (Session, MockTransport) {
        let count = Locked(0)
        let transport = MockTransport { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return respond(number, request)
        }
        var configuration = SessionConfiguration()
        configuration.steps.signers = signers
        configuration.defaultHeaders["X-Team"] = "blue"
        change(&configuration)
        return (Session(configuration: configuration, transport: transport), transport)
    }

    /// Checks a request as its server does: the signature, and the digest of the body.
    private static func isIntact(_ request: TransportRequest) throws -> Bool {
        var received = Request(
            request.url, method: request.method, headers: request.headers, body: request.body?.data.map { .data($0) })
        received.sendsURLUnchanged = true
        let inputs = try #require(StructuredDictionary(parsing: request.headers.lines("Signature-Input")))
        let signatures = try #require(StructuredDictionary(parsing: request.headers.lines("Signature")))
        let member = try #require(inputs["sig1"])
        guard let input = SignatureInput(member), case .item(let item)? = signatures["sig1"],
            case .bytes(let signature) = item.value
        else { return false }
        let base = try input.base(of: SignedMessage(try WireRequest(received)))
        if let body = request.body?.data {
            guard input.covers("content-digest"),
                try ContentDigests(request.headers.lines("Content-Digest")).mismatch(body) == nil
            else { return false }
        }
        return sharedKey.isSignature(Array(signature), of: Array(base.utf8))
    }

    private static let signer = MessageSigner(key: sharedKey, components: components)

    @Test(arguments: [
        "http://a.example", "http://A.example:80/caf\u{E9}?q=a b", "https://a.example:8443/%41b%2f?'x",
        "http://a.example/?",
        "http://[::1]:8080/p;x?a=1&a=2",
    ])
    func whatArrivesIsWhatWasSigned(_ url: String) async throws {
        let (session, transport) = Self.session([Self.signer], configured: { $0.steps.cookies = CookieJar() })
        var post = Request(url, method: .post, body: .string(String(repeating: "text ", count: 1000)))
        _ = try await session.data(Request(url))
        _ = try await session.data(post)
        post.compression = .gzip
        _ = try await session.data(post)
        #expect(transport.requests.count == 3)
        for request in transport.requests { #expect(try Self.isIntact(request)) }
    }

    @Test func theSignatureFollowsTheCallWithinItsOriginAlone() async throws {
        let targets = [(307, "/new?b=2"), (303, "/other"), (307, "http://b.example/"), (307, "http://a.example/back")]
        let (session, transport) = Self.session(
            [Self.signer],
            responding: { number, _ in
                guard number <= targets.count else { return .text("ok") }
                return MockResponse(status: targets[number - 1].0, headers: [.location: targets[number - 1].1])
            })
        _ = try await session.data(Request("http://a.example/", method: .post, body: .string("text")))
        let requests = transport.requests
        #expect(requests.count == 5)
        for request in requests.prefix(3) { #expect(try Self.isIntact(request)) }
        #expect(requests.prefix(3).map(\.method) == [.post, .post, .get])
        for request in requests.dropFirst(3) {
            #expect(
                request["Signature"] == nil && request["Signature-Input"] == nil && request["Content-Digest"] == nil)
        }
    }

    @Test func aRetryHasAnotherNonce() async throws {
        var signer = Self.signer
        signer.hasNonce = true
        let (session, transport) = Self.session(
            [signer],
            configured: {
                var policy = RetryPolicy(retryLimit: 1)
                policy.exponentialBackoffScale = .zero
                $0.steps.intercept(with: policy)
            },
            responding: { number, _ in
                number == 1 ? MockResponse(status: 503, headers: [.retryAfter: "0"]) : .text("ok")
            })
        _ = try await session.data("http://a.example/")
        let inputs = transport.requests.compactMap { $0["Signature-Input"] }
        #expect(inputs.count == 2 && inputs.first != inputs.last)
        for request in transport.requests { #expect(try Self.isIntact(request)) }
    }

    @Test func severalSignersStandSideBySide() async throws {
        var second = MessageSigner(key: sharedKey, components: [.authority, .field("signature").member("sig1")])
        second.label = "proxy"
        let (session, transport) = Self.session([Self.signer, second])
        _ = try await session.data("http://a.example/")
        let request = try #require(transport.requests.first)
        #expect(try Self.isIntact(request))
        let inputs = try #require(StructuredDictionary(parsing: request.headers.lines("Signature-Input")))
        #expect(inputs.members.map(\.key) == ["sig1", "proxy"])
    }

    @Test(arguments: ["host", "content-length", "x-missing"]) func whatCannotBeSignedIsNotSent(_ name: String)
        async throws
    {
        let (session, transport) = Self.session([MessageSigner(key: sharedKey, components: [.field(name)])])
        let error = await #expect(throws: TrellisError.self) {
            try await session.data(Request("http://a.example/", method: .post, body: .string("text")))
        }
        #expect(error?.kind == .invalidRequest && transport.startedCount == 0)
    }

    @Test func aLabelThatIsTakenIsAnError() async throws {
        let (session, _) = Self.session([Self.signer, Self.signer])
        await #expect(throws: TrellisError.self) { try await session.data("http://a.example/") }
    }

    // MARK: Bodies that a signer sets

    private static func aws(_ payload: AWSSigner.Payload) -> AWSSigner {
        var signer = AWSSigner(region: "r", service: "s3", now: { exampleTime }) {
            AWSCredentials(accessKeyID: "id", secretAccessKey: "secret")
        }
        signer.payload = payload
        return signer
    }

    @Test func aBodyInChunksArrivesInChunks() async throws {
        let (session, transport) = Self.session([Self.aws(.chunked(size: 8192, checksum: .sha256))])
        let text = String(repeating: "0123456789", count: 2000)
        let stream = RequestBody.stream(length: 20_000) {
            AsyncStream<Data> { stream in
                for _ in 0..<20 { stream.yield(Data(String(repeating: "0123456789", count: 100).utf8)) }
                stream.finish()
            }
        }
        for body in [RequestBody.string(text, contentType: nil), stream] {
            _ = try await session.data(Request("http://a.example/", method: .put, body: body))
        }
        let bodies = transport.requests.compactMap { $0.body?.data }
        #expect(bodies.count == 2 && bodies.first == bodies.last)
        let sent = String(decoding: bodies.first ?? Data(), as: UTF8.self)
        #expect(sent.hasPrefix("2000;chunk-signature=") && sent.contains("x-amz-checksum-sha256:"))
        for request in transport.requests {
            #expect(request["X-Amz-Decoded-Content-Length"] == "20000")
            #expect(request["Content-Encoding"] == "aws-chunked")
            #expect(request["X-Amz-Content-SHA256"] == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
        }
    }

    /// A redirect is signed anew, from the body without chunks.
    @Test func aRedirectedBodyIsPutIntoChunksOnce() async throws {
        let (session, transport) = Self.session(
            [Self.aws(.chunked())],
            responding: { number, _ in
                number == 1 ? MockResponse(status: 307, headers: [.location: "/new"]) : .text("ok")
            })
        _ = try await session.data(Request("http://a.example/", method: .put, body: .string("text")))
        let bodies = transport.requests.compactMap { $0.body?.data }
        #expect(bodies.count == 2 && bodies.allSatisfy { $0.starts(with: Array("4;chunk-signature=".utf8)) })
        #expect(bodies.first != bodies.last && bodies.first?.count == bodies.last?.count)
        #expect(transport.requests.allSatisfy { $0["Content-Encoding"] == "aws-chunked" })
    }

    @Test func theSecretsOfAnErrorAreNotShown() async throws {
        let (session, transport) = Self.session([Self.aws(.signed)], responding: { _, _ in MockResponse(status: 403) })
        let error = await #expect(throws: TrellisError.self) {
            try await session.request("http://a.example/").validate().data()
        }
        let request = try #require(transport.requests.first)
        #expect(request["Authorization"]?.hasPrefix("AWS4-HMAC-SHA256 Credential=id/") == true)
        #expect(error.map { "\($0)".contains("secret") } == false)
    }

    // MARK: Responses

    @Test func aResponseIsCheckedWithTheRequestThatWasSent() async throws {
        let key = sharedKey
        let (session, _) = Self.session(
            [Self.signer],
            responding: { _, request in
                let received = Request(request.url, method: request.method, headers: request.headers)
                let input = SignatureInput(
                    [.status, .targetURI.ofRequest, .field("signature").ofRequest],
                    [StructuredParameter("created", .integer(1_618_884_473))])
                let response = Response(head: ResponseHead(status: .ok), url: request.url)
                guard let wire = try? WireRequest(received),
                    let base = try? input.base(of: SignedMessage(wire, response: response)),
                    let signature = try? key.signature(of: Array(base.utf8))
                else { return MockResponse(status: 500) }
                return MockResponse(
                    headers: HTTPFields([
                        ("Signature-Input", "a=\(input.member.text)"),
                        ("Signature", "a=\(StructuredValue.bytes(Data(signature)).text)"),
                    ]), body: Data("ok".utf8))
            })
        let verifier = MessageVerifier(
            requiring: [.status, .field("signature").ofRequest], key: sharedKey, now: { exampleTime })
        let text = try await session.request("http://a.example/p").validate(.messageSignature(verifier)).string()
        #expect(text == "ok")
        let strict = MessageVerifier(requiring: ["content-digest"], key: sharedKey, now: { exampleTime })
        let error = await #expect(throws: TrellisError.self) {
            try await session.request("http://a.example/p").validate(.messageSignature(strict)).string()
        }
        #expect(error?.kind == .unacceptableSignature)
    }
}
