import CurlEngine
import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// Each fault leads to the same result on a mock and over a socket.
@Suite(.timeLimit(.minutes(3)))
struct FaultTableTests {
    @Test(arguments: FaultCase.all)
    func aFaultIsTheSameOnAMockAndOnASocket(_ test: FaultCase) async throws {
        let mocked = try await Self.onMock(test)
        #expect(mocked.result == test.result)
        let real = try await Self.onSocket(test)
        #expect(real == mocked)
    }

    /// Only faults that were planned for a moment that came are recorded.
    @Test(arguments: [FaultCase(.truncation(after: 5), .truncatedBody), .init(.truncation(after: 11), gives: "")])
    func aFaultThatDoesNotHappenIsNotRecorded(_ test: FaultCase) async throws {
        let expected = test.result == .text("") ? [] : [test.fault]
        let transport = FaultTransport(
            wrapping: MockTransport { _ in .text(FaultCase.text) }, faults: [.always(test.fault)])
        _ = try? await Session(transport: transport).data("http://server.test/")
        #expect(transport.faults == expected)
        let server = try LoopbackServer.http(faults: [.always(test.fault)]) { _ in .text(FaultCase.text) }
        _ = try? await Session().data(server.url())
        #expect(server.faults == expected)
    }

    /// The windows of a connection and of its streams are opened again, so that bodies of any length arrive.
    @Test func longBodiesArriveOverHTTP2() async throws {
        let server = try LoopbackServer.http2()
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        for _ in 0..<3 {
            let (data, response) = try await session.upload(Data(count: 200_000), to: server.url())
            #expect(String(decoding: data, as: UTF8.self) == "ok" && response.status.code == 200)
        }
        #expect(server.acceptedCount == 1)
    }

    private static func request(_ url: String, _ test: FaultCase) -> Request {
        guard case .failure = test.result, test.way == .http2 else {
            return Request(url, method: .put, body: .data(Data("a body".utf8)))
        }
        return Request(url)
    }

    static func onMock(_ test: FaultCase) async throws -> FaultOutcome {
        let clock = TestClock()
        let transport = FaultTransport(
            wrapping: MockTransport { _ in .text(FaultCase.text) }, faults: [.always(test.fault)], clock: clock)
        let session = Session(transport: transport, clock: clock)
        let scheme = test.way == .https ? "https" : "http"
        let call = Task {
            try await FaultOutcome { try await session.string(request("\(scheme)://server.test/", test)) }
        }
        // A fault that is a wait begins before its time, or the limit of the session, is over.
        if test.waits {
            try await transport.waitUntilFaults(count: 1)
            await session.settle()
            clock.move(by: test.endsByLimit ? .seconds(60) : .milliseconds(3))
        }
        defer { #expect(transport.faults == (test.happens ? [test.fault] : [])) }
        return try await call.value
    }

    static func onSocket(_ test: FaultCase) async throws -> FaultOutcome {
        let handler: @Sendable (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response = { _ in
            .text(FaultCase.text)
        }
        let faults: FaultPlan = [.always(test.fault)]
        var configuration = SessionConfiguration()
        let server =
            switch test.way {
            case .http: try LoopbackServer.http(faults: faults, handler)
            case .https: try LoopbackServer.https(tls: .init(names: ["server.test"]), faults: faults, handler)
            case .http2: try LoopbackServer.http2(faults: faults, response: .text(FaultCase.text))
            }
        if test.way == .http2 { configuration.httpVersion = .http2PriorKnowledge }
        // The clock may be moved more than once, and the limit that is meant is that of a phase.
        configuration.timeouts = Timeouts(total: nil)
        let clock = TestClock()
        let session = Session(configuration: server.sessionConfiguration(configuration), clock: clock)
        let call = Task {
            try await FaultOutcome { try await session.string(request(server.url("/", host: "server.test"), test)) }
        }
        let outcome =
            test.endsByLimit
            ? try await session.end(of: call, onLimitsOf: clock) { try await server.waitUntilFaults(count: 1) }
            : try await call.value
        #expect(server.faults == (test.happens ? [test.fault] : []))
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
        return outcome
    }
}

extension Session {
    /// Returns the result of a call that a limit of the session ends: once the server has come to the fault that `reached` waits for, the
    /// clock is moved over all limits.
    func end<Result: Sendable>(
        of call: Task<Result, any Error>, onLimitsOf clock: TestClock, after reached: () async throws -> Void
    ) async throws -> Result {
        try await reached()
        let mover = Task {
            // Bytes that come after an advance, on their way to the engine before it, begin the time without a byte anew.
            while !Task.isCancelled {
                await settle()
                clock.move(by: .seconds(60))
            }
        }
        return try await withTaskCancellationHandler {
            defer { mover.cancel() }
            return try await call.value
        } onCancel: {
            call.cancel()
            mover.cancel()
        }
    }
}

extension FaultCase {
    /// Whether a limit of the session ends the fault.
    var endsByLimit: Bool { if case .silence = fault { true } else { false } }

    /// Whether the fault lasts until the clock is moved.
    var waits: Bool {
        switch fault {
        case .silence, .latency, .drip: true
        default: false
        }
    }

    /// Whether the moment of the fault comes.
    var happens: Bool { fault != .reset(.requestBody(after: 100)) && fault != .truncation(after: 11) }
}
