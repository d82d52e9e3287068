import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The preparation of a request's body, limits and versions, and the requests that a session refuses.
struct RequestPreparationBodyTests {
    private enum Shape: Equatable {
        case none, bytes(Int), stream(Int64?)
    }

    private static func shape(_ request: Request) throws -> Shape {
        switch try RequestPreparationTests.prepare(request).wire.body {
        case .none: .none
        case .bytes(let bytes): .bytes(bytes.count)
        case .stream(let length): .stream(length)
        }
    }

    @Test(arguments: [
        ("POST", 0), ("PUT", 0), ("PATCH", 0), ("GET", nil), ("DELETE", nil), ("HEAD", nil), ("OPTIONS", nil),
    ])
    func methodsThatExpectContentSayThatThereIsNone(_ name: String, _ length: Int?) throws {
        let method = try #require(HTTPRequest.Method(name))
        #expect(try Self.shape(Request("http://localhost/", method: method)) == (length.map { .bytes($0) } ?? .none))
    }

    @Test(arguments: [(0, false), (1, false), (64 << 10, false), (64 << 10 + 1, true), (1 << 20, true)])
    func smallBodiesGoWholeAndLargeOnesInSlices(_ count: Int, _ isStreamed: Bool) throws {
        let request = Request("http://localhost/", method: .post, body: .data(Data(count: count)))
        #expect(try Self.shape(request) == (isStreamed ? .stream(Int64(count)) : .bytes(count)))
    }

    @Test(arguments: [nil, 0, 10] as [Int64?])
    func aStreamHasTheLengthThatIsGiven(_ length: Int64?) throws {
        let chunks = AsyncStream<Data> { $0.finish() }
        let request = Request("http://localhost/", method: .post, body: .stream(chunks, length: length))
        #expect(try Self.shape(request) == .stream(length))
        #expect(try RequestPreparationTests.prepare(request).streamedBody?.isReplayable == false)
    }

    @Test(arguments: [-1, .min] as [Int64])
    func aNegativeLengthIsAnError(_ length: Int64) {
        let chunks = AsyncStream<Data> { $0.finish() }
        let request = Request("http://localhost/", method: .post, body: .stream(chunks, length: length))
        let error = #expect(throws: TrellisError.self) { try RequestPreparationTests.prepare(request) }
        #expect(error?.reason == .invalidRequest(.body("its length is \(length)")))
    }

    @Test func bytesInMemoryCanBeSentTwice() throws {
        let request = Request("http://localhost/", method: .put, body: .data(Data(count: 1 << 20)))
        #expect(try RequestPreparationTests.prepare(request).streamedBody?.isReplayable == true)
    }

    // MARK: Files

    @Test func aFileHasItsSize() throws {
        let path = "/tmp/trellis-\(UUID().uuidString)"
        try Data(count: 12345).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try Self.shape(Request("http://localhost/", method: .put, body: .file(path))) == .stream(12345))
    }

    @Test(arguments: ["/tmp/trellis-no-such-file", "/tmp", "/dev/null", "/tmp/trellis-no-such-file/below"])
    func aFileThatCannotBeSentIsAnErrorBeforeAnythingIs(_ path: String) {
        let error = #expect(throws: TrellisError.self) {
            try RequestPreparationTests.prepare(Request("http://localhost/", method: .put, body: .file(path)))
        }
        #expect(error?.kind == .file)
        #expect(error?.mayHaveSentBytes == false)
        #expect(error?.description.contains(path) == true)
    }

    // MARK: Refused requests

    @Test(
        arguments: [
            ("", .invalidURL), ("/relative", .invalidURL), ("localhost", .invalidURL),
            ("ftp://localhost/", .invalidURL),
            ("http://", .invalidURL), ("http://local host/", .invalidURL), ("http://localhost:99999/", .invalidURL),
            ("http://localhost/\r\nX: y", .invalidURL), ("http://localhost/\0", .invalidURL),
        ] as [(String, TrellisError.Kind)])
    func aURLThatCannotBeRequested(_ url: String, _ kind: TrellisError.Kind) {
        let error = #expect(throws: TrellisError.self) { try RequestPreparationTests.prepare(Request(url)) }
        #expect(error?.kind == kind)
        #expect(error?.phase == .composing)
    }

    @Test func connectIsRefused() throws {
        let method = try #require(HTTPRequest.Method("CONNECT"))
        let error = #expect(throws: TrellisError.self) {
            try RequestPreparationTests.prepare(Request("http://localhost/", method: method))
        }
        #expect(error?.reason == .invalidRequest(.method("CONNECT")))
    }

    @Test(arguments: [HTTPRequest.Method.head, .trace])
    func aBodyWhereTheMethodHasNoneIsRefused(_ method: HTTPRequest.Method) {
        let error = #expect(throws: TrellisError.self) {
            try RequestPreparationTests.prepare(Request("http://localhost/", method: method, body: .string("x")))
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func theErrorNamesTheRequestWithoutItsSecrets() {
        let error = #expect(throws: TrellisError.self) {
            try RequestPreparationTests.prepare(Request("ftp://ann:secret@localhost/?token=abc", method: .put))
        }
        #expect(error?.method == .put)
        #expect(error?.url == "ftp://localhost/?token=REDACTED")
    }

    // MARK: Versions and limits

    @Test(
        arguments: [
            (.automatic, "http", .http2OverTLS), (.http1Only, "https", .http1),
            (.http2, "https", .http2Only), (.http2PriorKnowledge, "http", .http2PriorKnowledge),
            (.http3Preferred, "https", .http3WithFallback),
            (.http3Preferred, "http", .http2OverTLS),
        ] as [(HTTPVersionPolicy, String, TransferOptions.Version)])
    func thePolicyDecidesTheVersion(_ policy: HTTPVersionPolicy, _ scheme: String, _ version: TransferOptions.Version)
        throws
    {
        var request = Request("\(scheme)://localhost/")
        request.httpVersion = policy
        #expect(try RequestPreparationTests.prepare(request).wire.version == version)
    }

    @Test func http3AloneNeedsALibcurlThatHasIt() throws {
        var request = Request("https://localhost/")
        request.httpVersion = .http3Only
        if LibcurlFeatures.current.hasHTTP3 {
            #expect(try RequestPreparationTests.prepare(request).wire.version == .http3Only)
        } else {
            let error = #expect(throws: TrellisError.self) { try RequestPreparationTests.prepare(request) }
            #expect(error?.kind == .unsupported)
        }
    }

    @Test(arguments: [("GET", true), ("PUT", true), ("POST", false), ("PATCH", false)])
    func onlyIdempotentRequestsMayBeReplayed(_ name: String, _ mayBeReplayed: Bool) throws {
        let method = try #require(HTTPRequest.Method(name))
        let prepared = try RequestPreparationTests.prepare(Request("http://localhost/", method: method))
        #expect(prepared.wire.mayBeReplayed == mayBeReplayed)
    }

    @Test func theRequestsLimitsWinOverTheSessions() throws {
        var request = Request("http://localhost/")
        let change = { (configuration: inout SessionConfiguration) in
            configuration.maximumBodySize = .bytes(7)
            configuration.timeouts = Timeouts(total: .seconds(7))
        }
        #expect(try RequestPreparationTests.prepare(request, change).maximumBodySize == .bytes(7))
        #expect(try RequestPreparationTests.prepare(request, change).limits.total == 7_000_000_000)
        request.maximumBodySize = .bytes(9)
        request.timeouts = Timeouts(total: .seconds(9))
        #expect(try RequestPreparationTests.prepare(request, change).maximumBodySize == .bytes(9))
        #expect(try RequestPreparationTests.prepare(request, change).limits.total == 9_000_000_000)
    }

    @Test func aStreamHasNoLimitOfTheSession() throws {
        let preparation = RequestPreparation(SessionConfiguration())
        let prepared = try preparation.prepare(
            Request("http://localhost/"), delivery: .stream, start: .init(nanoseconds: 1))
        #expect(prepared.maximumBodySize == .unlimited)
    }
}
