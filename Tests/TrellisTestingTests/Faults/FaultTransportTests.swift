import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// A transport with faults lets everything else pass, and waits on the test's clock.
@Suite(.timeLimit(.minutes(3)))
struct FaultTransportTests {
    private static let url = "http://server.test/"

    private static func session(
        _ mock: MockTransport, _ plan: FaultPlan, _ clock: TestClock
    ) -> (Session, FaultTransport) {
        let transport = FaultTransport(wrapping: mock, faults: plan, clock: clock)
        return (Session(transport: transport, clock: clock), transport)
    }

    /// The moments that a transport and a server on a socket have in common.
    static let moments: [Fault.Moment] = [
        .connecting, .requestHead, .requestBody(after: 2), .responseHead, .responseBody(after: 2), .end,
    ]

    @Test(arguments: moments)
    func aLatencyLastsUntilTheClockIsMoved(_ moment: Fault.Moment) async throws {
        let clock = TestClock()
        let mock = MockTransport { request in .text("echo \(request.body?.data?.count ?? 0)") }
        let (session, transport) = Self.session(mock, [.always(.latency(.seconds(9), moment))], clock)
        let call = Task { try await session.upload(Data("body".utf8), to: Self.url) }
        try await transport.waitUntilFaults(count: 1)
        clock.move(by: .seconds(9))
        let (data, response) = try await call.value
        #expect(String(decoding: data, as: UTF8.self) == "echo 4")
        #expect(response.metrics.total == .seconds(9))
    }

    @Test func aLatencyOverALimitIsATimeout() async throws {
        let clock = TestClock()
        let (session, transport) = Self.session(
            MockTransport { _ in .text("late") }, [.always(.latency(.seconds(30), .connecting))], clock)
        let call = Task { try await session.string(Self.url) }
        try await transport.waitUntilFaults(count: 1)
        await session.settle()
        clock.move(by: .seconds(10))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .connectTimeout)
        #expect(error?.elapsed == .seconds(10))
    }

    @Test func aDripComesInPiecesWithPauses() async throws {
        let clock = TestClock()
        let (session, transport) = Self.session(
            MockTransport { _ in .text("hello world") }, [.always(.drip(bytes: 4, every: .seconds(5)))], clock)
        let call = Task {
            var pieces: [String] = []
            for try await chunk in try await session.stream(Self.url).chunks {
                pieces.append(String(decoding: chunk, as: UTF8.self))
                clock.move(by: .seconds(5))
            }
            return pieces
        }
        try await transport.waitUntilFaults(count: 1)
        clock.move(by: .seconds(5))
        #expect(try await call.value == ["hell", "o wo", "rld"])
        #expect(clock.now.elapsed == .seconds(20))
    }

    @Test func aRequestThatFailsBeforeItsResponseDoesNotReachTheMock() async throws {
        let mock = MockTransport { _ in .text("x") }
        let plan: FaultPlan = [
            .first(1, .unresolvedName), .first(2, .reset(.requestHead)), .first(3, .close(.requestBody(after: 2))),
        ]
        let session = Session(transport: FaultTransport(wrapping: mock, faults: plan))
        for _ in 0..<3 {
            await #expect(throws: TrellisError.self) { try await session.upload(Data("body".utf8), to: Self.url) }
        }
        #expect(mock.startedCount == 0)
        _ = try await session.upload(Data("body".utf8), to: Self.url)
        #expect(mock.requests.map(\.body?.data) == [Data("body".utf8)])
    }

    /// A streamed body is read as far as the fault needs it, and no further.
    @Test func aStreamedBodyIsReadUpToTheFault() async throws {
        let mock = MockTransport { _ in .text("x") }
        let transport = FaultTransport(wrapping: mock, faults: [.always(.reset(.requestBody(after: 5)))])
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        let call = Task { try await Session(transport: transport).upload(chunks, to: Self.url) }
        for _ in 0..<3 { source.yield(Data("ab".utf8)) }
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .receive)
        #expect(mock.startedCount == 0)
    }

    @Test func aStreamedBodyArrivesCompleteAfterAWait() async throws {
        let mock = MockTransport { request in .text(String(decoding: request.body?.data ?? Data(), as: UTF8.self)) }
        let clock = TestClock()
        let plan: FaultPlan = [
            .always(.latency(.seconds(1), .requestBody(after: 3)), .latency(.seconds(1), .requestBody(after: 1)))
        ]
        let (session, transport) = Self.session(mock, plan, clock)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        let call = Task { try await session.upload(chunks, to: Self.url).0 }
        for text in ["ab", "cd", "ef"] { source.yield(Data(text.utf8)) }
        for count in 1...2 {
            try await transport.waitUntilFaults(count: count)
            clock.move(by: .seconds(1))
        }
        source.yield(Data("gh".utf8))
        source.finish()
        #expect(String(decoding: try await call.value, as: UTF8.self) == "abcdefgh")
        #expect(
            transport.faults == [
                .latency(.seconds(1), .requestBody(after: 1)), .latency(.seconds(1), .requestBody(after: 3)),
            ])
    }

    @Test(arguments: [Fault.Moment.connecting, .requestHead, .responseHead, .responseBody(after: 1)])
    func aCancelledTaskEndsASilence(_ moment: Fault.Moment) async throws {
        let mock = MockTransport { _ in .text("hello") }
        let transport = FaultTransport(wrapping: mock, faults: [.always(.silence(moment))])
        let session = Session(transport: transport)
        let call = Task { try await session.string(Self.url) }
        try await transport.waitUntilFaults(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await mock.waitUntilIdle()
        await session.shutdown()
    }

    /// The mock waits for a slow reader although the faults are between them.
    @Test func aWriterWaitsForTheReader() async throws {
        try await MockTransportTests.expectWaitingWriter {
            FaultTransport(wrapping: $0, faults: [.always(.latency(.zero, .responseBody(after: 10)))])
        }
    }

    @Test func informationalHeadsAndTrailersPass() async throws {
        let mock = MockTransport { _ in
            var response = MockResponse.text("x")
            response.informational = [ResponseHead(status: .init(code: 103), headers: [.server: "a"])]
            response.trailers = [.eTag: "\"1\""]
            return response
        }
        let transport = FaultTransport(wrapping: mock, faults: [.always(.latency(.zero, .responseHead))])
        let (_, response) = try await Session(transport: transport).data(Self.url)
        #expect(response.informational.map(\.status.code) == [103])
        #expect(response.trailers == [.eTag: "\"1\""])
    }

    /// A response without a body does not reach the moments of a body.
    @Test func aResponseWithoutABodyHasNoFaultsInIt() async throws {
        let transport = FaultTransport(
            wrapping: MockTransport { _ in MockResponse(status: 204) }, faults: [.always(.reset(.end))])
        let session = Session(transport: transport)
        #expect(try await session.data(Self.url).1.status.code == 204)
        let server = try LoopbackServer.http(faults: [.always(.reset(.end))]) { _ in .init(204) }
        #expect(try await session.data(Self.url).1.status.code == 204)
        #expect(try await Session().data(server.url()).1.status.code == 204)
        #expect(transport.faults == [] && server.faults == [])
    }

    /// The bytes of a transport that sends a body after a head without one are no body that has faults.
    @Test func bytesAfterAHeadWithoutABodyHaveNoFaults() async throws {
        let scripted = ScriptedTransport()
        let transport = FaultTransport(
            wrapping: scripted, faults: [.always(.truncation(after: 1), .framing(.lengthTooSmall(by: 2)))])
        let call = Task { try await Session(transport: transport).data(Request(Self.url, method: .head)) }
        let attempt = try await scripted.nextAttempt()
        attempt.respond("hello")
        #expect(try await call.value.1.status == .ok)
        #expect(!transport.faults.contains(.truncation(after: 1)))
    }

    /// A router behind faults is the current one, and its problems are those of the test.
    @Test func aRouterBehindFaultsIsStrict() async throws {
        let router = MockRouter()
        router.route(.get, "/used").respond(with: .text("hello"))
        router.route(.get, "/unused").respond(with: .text("hello"))
        let inner = FaultTransport(wrapping: router, faults: [])
        let transport = FaultTransport(wrapping: inner, faults: [.always(.latency(.zero, .responseHead))])
        let error = await #expect(throws: TestProblems.self) {
            try await withTransport(transport) {
                #expect(MockRouter.current === router)
                let text = try await Session().string("http://server.test/used")
                #expect(text == "hello")
                _ = try? await Session().data("http://server.test/other")
            }
        }
        let problems = try #require(error).problems.map(\.description)
        #expect(problems.count == 2 && problems.last == "GET /unused was not requested")
        #expect(problems.first?.hasPrefix("no route for GET http://server.test/other") == true)
        #expect(transport.faults.count == 1)
    }

    @Test func theFailureOfTheMockPasses() async {
        let mock = MockTransport { _ in throw TransportFailure(.connectionFailed(.unreachable("x"))) }
        let transport = FaultTransport(wrapping: mock, faults: [.always(.truncation(after: 1))])
        let error = await #expect(throws: TrellisError.self) { try await Session(transport: transport).data(Self.url) }
        #expect(error?.kind == .connect)
    }

    /// A refused stream is repeated once, because the server reports that it did nothing (RFC 9113, section 8.7).
    @Test func aRefusedStreamIsSentAgain() async throws {
        let mock = MockTransport { _ in .text("x") }
        let plan: FaultPlan = [.first(1, .http2(.resetStream(.refusedStream)))]
        let session = Session(transport: FaultTransport(wrapping: mock, faults: plan))
        #expect(try await session.upload(Data("body".utf8), to: Self.url).1.status == .ok)
        #expect(mock.startedCount == 2)
    }
}
