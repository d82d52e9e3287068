import FoundationEssentials
import HTTPTypes
import Testing
@_spi(Transport) import Trellis
@_spi(Transport) import TrellisTesting

/// The mock transport passes requests to its handler, and the handler's responses and errors to the session.
@Suite(.timeLimit(.minutes(3)))
struct MockTransportTests {
    private struct Odd: Error {}

    @Test func theHandlerSeesTheRequestAsItWouldBeSent() async throws {
        let transport = MockTransport { request in .text("\(request.request.method) \(request.url)") }
        let (data, response) = try await Session(transport: transport).data("HTTP://mock.example/a b#c")
        #expect(String(decoding: data, as: UTF8.self) == "GET http://mock.example/a%20b")
        #expect(response.headers[.contentType] == "text/plain; charset=utf-8")
        #expect(transport.requests.first?.request.headers[.userAgent] != nil)
    }

    /// A handler reads a request with the names of ``LoopbackServer/ReceivedRequest``.
    @Test(
        arguments: [
            ("http://mock.example/a%20b?q=1&r", "/a%20b", "q=1&r"), ("http://mock.example", "/", nil),
            ("http://[::1]:81/a/b", "/a/b", nil), ("http://mock.example?q=/", "/", "q=/"),
        ] as [(String, String, String?)])
    func theHandlerReadsThePartsOfTheRequest(_ url: String, _ path: String, _ query: String?) async throws {
        let transport = MockTransport { request in
            request["X-KEY"] == "a" && request.headers["x-key"] == "a" && request["X-Other"] == nil
                ? .text("\(request.method) \(request.path) \(request.query ?? "-")") : MockResponse(status: 401)
        }
        var request = Request(url, method: .put)
        request.headers["X-Key"] = "a"
        let (data, _) = try await Session(transport: transport).data(request)
        #expect(String(decoding: data, as: UTF8.self) == "PUT \(path) \(query ?? "-")")
    }

    @Test func aStreamedBodyIsInMemoryWhenTheHandlerIsCalled() async throws {
        let transport = MockTransport { request in .text("\(request.body?.data?.count ?? -1)") }
        let session = Session(transport: transport)
        let chunks = AsyncStream<[UInt8]> { continuation in
            for _ in 0..<10 { continuation.yield([UInt8](repeating: 1, count: 1000)) }
            continuation.finish()
        }
        let (data, _) = try await session.upload(chunks, to: "http://mock.example/")
        #expect(String(decoding: data, as: UTF8.self) == "10000")
    }

    @Test func aTransportFailureBecomesTheError() async {
        let session = Session(
            transport: MockTransport { _ in throw TransportFailure(.connectionFailed(.unreachable("x"))) })
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://mock.example/") }
        #expect(error?.kind == .connect)
    }

    @Test func anyOtherErrorIsOneOfKindOther() async {
        let session = Session(transport: MockTransport { _ in throw Odd() })
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://mock.example/") }
        #expect(error?.kind == .other)
    }

    @Test func whatIsMeasuredIsWhatTheResponseSays() async throws {
        let transport = MockTransport { _ in
            var response = MockResponse.json("{}")
            response.report.bytesReceived = 1234
            response.report.isReusedConnection = true
            return response
        }
        let (_, response) = try await Session(transport: transport).data("http://mock.example/")
        #expect(response.metrics.bytesReceived == 1234)
        #expect(response.metrics.isReusedConnection)
    }

    /// A response without a body on a socket has none in a mock, and keeps its fields.
    @Test(
        arguments: [
            (.head, 200), (.get, 204), (.get, 304), (.get, 200),
        ] as [(HTTPRequest.Method, Int)])
    func aResponseThatCannotHaveABodyHasNone(_ method: HTTPRequest.Method, _ status: Int) async throws {
        let isEmpty = method == .head || status != 200
        let fields: HTTPFields = [.contentLength: "5"]
        let trailers: HTTPFields = isEmpty ? [:] : [.eTag: "sum"]
        var whole = MockResponse(status: status, headers: fields, body: Data("hello".utf8))
        whole.trailers = [.eTag: "sum"]
        var written = MockResponse(status: status, headers: fields) { writer in
            if isEmpty { Issue.record("the body is written") }
            try await writer.write("hello")
        }
        written.trailers = [.eTag: "sum"]
        for response in [whole, written] {
            let router = MockRouter()
            router.route(nil, "/").respond(with: response)
            let transports: [any Transport] = [
                MockTransport { _ in response }, MockTransport.immediate { _ in response }, router,
                InProcessTransport { _ in response },
                FaultTransport(wrapping: MockTransport { _ in response }, faults: [.always(.latency(.zero, .end))]),
            ]
            for transport in transports {
                let session = Session(transport: transport)
                let (data, received) = try await session.data(Request("http://mock.example/", method: method))
                #expect(data == Data((isEmpty ? "" : "hello").utf8) && received.status.code == status)
                #expect(received.headers[.contentLength] == "5")
                #expect(received.trailers == trailers)
            }
        }
    }

    @Test func aDelayIsTheTestsToEnd() async throws {
        let clock = TestClock()
        let deadline = clock.now.advanced(by: .seconds(30))
        let transport = MockTransport { _ in
            try await clock.sleep(until: deadline)
            return .text("at last")
        }
        var configuration = SessionConfiguration()
        configuration.timeouts.connect = nil
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let answer = Task { try await session.data("http://mock.example/") }
        try await transport.waitUntilRequested(count: 1)
        #expect(transport.activeCount == 1)
        clock.move(by: .seconds(30))
        let (_, response) = try await answer.value
        #expect(response.metrics.total == .seconds(30))
        #expect(transport.activeCount == 0)
    }

    @Test func aCancelledAttemptCancelsItsHandler() async throws {
        let wasCancelled = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            defer { if Task.isCancelled { wasCancelled.open() } }
            try await LoopbackServer.Gate().opened()
            return .text("never")
        }
        let session = Session(transport: transport)
        let answer = Task { try await session.data("http://mock.example/") }
        try await transport.waitUntilRequested(count: 1)
        answer.cancel()
        await #expect(throws: CancellationError.self) { try await answer.value }
        try await wasCancelled.opened()
        try await transport.waitUntilIdle()
        #expect(transport.cancelledCount == 1)
    }

    @Test func aWriterWaitsForTheReader() async throws { try await Self.expectWaitingWriter { $0 } }

    /// Expects that the writer of a large body waits for its reader.
    ///
    /// - Parameter wrap: Returns the transport of the session.
    static func expectWaitingWriter(_ wrap: (MockTransport) -> any Transport) async throws {
        let written = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            MockResponse { writer in
                for _ in 0..<64 { try await writer.write(Data(count: 1 << 20)) }
                written.open()
            }
        }
        let response = try await Session(transport: wrap(transport)).stream("http://mock.example/")
        var reader = response.chunks.makeAsyncIterator()
        var count = try await reader.next()?.count ?? 0
        #expect(!written.isOpen, "64 MiB went into memory")
        while let chunk = try await reader.next() { count += chunk.count }
        #expect(count == 64 << 20)
        #expect(written.isOpen)
    }

    /// The error of a handshake that a mock accepts tells where WebSockets can be tested. A refusal stays a refusal.
    @Test func aHandshakeThatIsAcceptedIsAnErrorWithAdvice() async throws {
        let response = MockResponse(status: 101)
        let written = MockResponse(status: 101) { try await $0.write("x") }
        let router = MockRouter()
        router.route(.get, "/").thenAlways(response)
        let transports: [any Transport] = [
            MockTransport { _ in response }, MockTransport { _ in written }, MockTransport.immediate { _ in response },
            MockTransport(responses: [response]), InProcessTransport { _ in response }, router,
        ]
        for transport in transports {
            let error = await #expect(throws: TrellisError.self) {
                try await Session(transport: transport).webSocket("ws://mock.example/")
            }
            let advice = "a mock plays no WebSockets: test them with LoopbackServer.webSocket of TrellisTesting"
            #expect(error?.reason == .other(advice))
        }
        let refusing = Session(transport: MockTransport { _ in MockResponse(status: 403) })
        let error = await #expect(throws: TrellisError.self) { try await refusing.webSocket("ws://mock.example/") }
        #expect(error?.kind == .unacceptableStatus)
    }
}
