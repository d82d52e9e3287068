import CurlEngine
import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The ends of a connection are the same on a mock and over a socket.
@Suite(.timeLimit(.minutes(3)))
struct FaultVersionTests {
    private func check(_ test: FaultCase) async throws {
        let mocked = try await FaultTableTests.onMock(test)
        #expect(mocked.result == test.result)
        let real = try await FaultTableTests.onSocket(test)
        #expect(real == mocked)
    }

    // MARK: The end of TLS

    @Test(arguments: [
        FaultCase(.closeWithoutNotify(.connecting), .connect),
        FaultCase(.closeWithoutNotify(.handshake), .tls, over: .https),
        FaultCase(.closeWithoutNotify(.requestHead), .receive, over: .https),
        FaultCase(.closeWithoutNotify(.requestBody(after: 3)), .receive, over: .https),
        FaultCase(.closeWithoutNotify(.responseHead), .receive, over: .https),
        FaultCase(.closeWithoutNotify(.responseHead), .receive),
        FaultCase(.closeWithoutNotify(.responseBody(after: 5)), .truncatedBody),
        FaultCase(.closeWithoutNotify(.end), .truncatedBody),
    ])
    func anEndWithoutANoticeIsTheSameOnAMockAndOnASocket(_ test: FaultCase) async throws {
        try await check(test)
    }

    /// The length of the body shows an end that is too early, with or without a notice.
    @Test(arguments: [.responseBody(after: 0), .responseBody(after: 5), .end] as [Fault.Moment])
    func anEndWithoutANoticeInABodyIsATruncation(_ moment: Fault.Moment) async throws {
        try await check(FaultCase(.closeWithoutNotify(moment), .truncatedBody, over: .https))
    }

    /// The length of the body shows an announced end that is too early.
    @Test func anAnnouncedEndInABodyIsATruncation() async throws {
        let test = FaultCase(.close(.responseBody(after: 5)), .truncatedBody, over: .https)
        try await check(test)
    }

    // MARK: HTTP/2

    @Test(arguments: [.noError, .internalError, .enhanceYourCalm] as [HTTP2Code])
    func anEndOfTheConnectionInPlaceOfAResponseIsAFailureOfHTTP2(_ code: HTTP2Code) async throws {
        try await check(FaultCase(.http2(.goAway(code)), code == .noError ? .receive : .http2, over: .http2))
    }

    /// A stream that was refused was not processed: the request is repeated, on the mock as over a socket.
    @Test func aRefusedStreamIsRepeated() async throws {
        let fault = Fault.http2(.resetStream(.refusedStream))
        let mock = MockTransport { _ in .text("hello") }
        let transport = FaultTransport(wrapping: mock, faults: [.first(1, fault)])
        #expect(try await Session(transport: transport).string("http://server.test/") == "hello")
        #expect(transport.faults == [fault])
        let server = try LoopbackServer.http2(faults: [.first(1, fault)], response: .text("hello"))
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        #expect(try await session.string(server.url()) == "hello")
        #expect(server.faults == [fault])
        await session.shutdown()
    }

    /// Each case of the enumeration is in one of the tables: a new one needs a test.
    @Test func everyFaultHasACase() {
        let tested = Set(FaultCase.all.map { Self.name($0.fault) })
        let here: Set<String> = ["closeWithoutNotify", "goAway"]
        #expect(
            tested.union(here) == [
                "unresolvedName", "refusedConnection", "tls", "silence", "reset", "close", "closeWithoutNotify",
                "latency", "drip", "framing", "resetStream", "goAway",
            ])
    }

    private static func name(_ fault: Fault) -> String {
        switch fault {
        case .unresolvedName: "unresolvedName"
        case .refusedConnection: "refusedConnection"
        case .tls: "tls"
        case .silence: "silence"
        case .reset: "reset"
        case .close: "close"
        case .closeWithoutNotify: "closeWithoutNotify"
        case .latency: "latency"
        case .drip: "drip"
        case .framing: "framing"
        case .http2(.resetStream): "resetStream"
        case .http2(.goAway): "goAway"
        }
    }
}
