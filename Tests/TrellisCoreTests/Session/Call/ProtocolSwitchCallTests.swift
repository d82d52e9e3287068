import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// A call that asks a server to switch protocols, over a transport without a network.
@Suite(.timeLimit(.minutes(3)))
struct ProtocolSwitchCallTests {
    /// A connection that sends what it receives, and knows whether it was closed.
    private final class Loop: DuplexConnection {
        let isClosed = LoopbackServer.Gate()
        private let bytes = Locked(Data())

        func waitForBytes() async throws -> Data? { try readAvailable() }
        func readAvailable() throws -> Data? {
            if isClosed.isOpen { throw ConnectionClosed() }
            return bytes.withLock { bytes in
                defer { bytes = Data() }
                return bytes
            }
        }
        func whenReadable(_ body: @escaping @Sendable () -> Void) {}
        func send(_ added: Data) throws -> Bool {
            if isClosed.isOpen { throw EngineFailure(kind: .send, message: "too late") }
            bytes.withLock { $0 += added }
            return true
        }
        func waitForRoom() async throws {}
        func close() { isClosed.open() }
    }

    private static func switching(_ loop: Loop) -> MockTransport {
        MockTransport { _ in
            MockResponse(switchingTo: loop, headers: [.upgrade: "loop"]) { try await loop.isClosed.opened() }
        }
    }

    @Test func theConnectionIsThatOfTheTransport() async throws {
        let loop = Loop()
        let transport = Self.switching(loop)
        let session = Session(transport: transport)
        let answer = try await session.switchProtocols(to: "loop", Request("wss://example.com/a"))
        let connection = try #require(answer.connection)
        _ = try connection.send(Data("abc".utf8))
        #expect(try await connection.read() == Data("abc".utf8))
        #expect(transport.requests.map(\.url) == ["https://example.com/a"] && transport.activeCount == 1)
        connection.close()
        try await transport.waitUntilIdle()
        let error = await #expect(throws: TrellisError.self) { try await connection.read() }
        #expect(error?.reason == .cancelled(.explicitly) && error?.phase == .receiving)
        let other = #expect(throws: TrellisError.self) { try connection.send(Data("x".utf8)) }
        #expect(other?.kind == .send && other?.url == "https://example.com/a" && other?.method == .get)
        await session.shutdown()
        #expect(transport.cancelledCount == 0)
    }

    @Test func theTransportOfAReleasedConnectionIsCancelled() async throws {
        let transport = Self.switching(Loop())
        let session = Session(transport: transport)
        _ = try await session.switchProtocols(to: "loop", Request("ws://example.com/"))
        try await transport.waitUntilCancelled(count: 1)
        await session.shutdown()
    }

    /// Waits until the reader of the body of a session's only exchange waits for more.
    private static func waitForReader(_ session: Session) async throws {
        await session.settle()
        let exchange = try #require(session.engines.first.site.list.all.first)
        let found: BodyInbox? = await withContinuation { continuation in
            exchange.submit { continuation.resume(returning: $0.waiters.inbox) }
        }
        let inbox = try #require(found)
        // A chunk would wake the reader; an empty one adds nothing.
        while [UInt8]().withBytes({ inbox.append($0) }).wake != .soon {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// The body of a refusal is read for a second: without a length it may never end.
    @Test func aRefusalWhoseBodyDoesNotEndIsKnownAfterASecond() async throws {
        let clock = TestClock(), isWritten = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            MockResponse(status: 403) { writer in
                try await writer.write(Data("no".utf8))
                isWritten.open()
                try await LoopbackServer.Gate().opened()
            }
        }
        let session = Session(transport: transport, clock: clock)
        let isOver = LoopbackServer.Gate()
        async let answer = {
            defer { isOver.open() }
            return try await session.switchProtocols(to: "loop", Request("ws://example.com/"))
        }()
        try await isWritten.opened()
        try await Self.waitForReader(session)
        await clock.waitForSleepers()
        await clock.advance(by: .seconds(1) - .nanoseconds(1))
        #expect(!isOver.isOpen)
        await clock.advance(by: .nanoseconds(1))
        let refusal = try await answer
        #expect(refusal.response.status.code == 403 && refusal.body == Data("no".utf8) && refusal.isBodyCut)
        try await transport.waitUntilCancelled(count: 1)
        await session.shutdown()
    }

    @Test func noLimitOfTimeEndsTheConnection() async throws {
        let clock = TestClock()
        let session = Session(transport: Self.switching(Loop()), clock: clock)
        let limit = Duration.seconds(1)
        var request = Request("ws://example.com/")
        request.timeouts = Timeouts(connect: limit, responseHead: limit, idle: limit, total: limit)
        let connection = try #require(try await session.switchProtocols(to: "loop", request).connection)
        await session.settle()
        for _ in 1...3 {
            clock.move(by: .seconds(3_600))
            await session.settle()
        }
        #expect(await session.liveRequestCount == 1)
        _ = try connection.send(Data("abc".utf8))
        #expect(try await connection.read() == Data("abc".utf8))
        connection.close()
        await session.shutdown()
    }

    @Test func theCacheIsNotUsed() async throws {
        let transport = MockTransport { request in
            request["Upgrade"] == nil
                ? MockResponse(headers: [.cacheControl: "max-age=100"], body: Data("stored".utf8))
                : MockResponse(switchingTo: Loop()) { try await LoopbackServer.Gate().opened() }
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache()
        let session = Session(configuration: configuration, transport: transport)
        for _ in 1...2 { #expect(try await session.string("http://example.com/") == "stored") }
        let answer = try await session.switchProtocols(to: "loop", Request("ws://example.com/"))
        #expect(answer.response.status.code == 101 && answer.connection != nil)
        #expect(transport.startedCount == 2)
        await session.shutdown()
    }

    @Test func aTransportThatDoesNotKnowSwitchesRefuses() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse(status: 200, body: Data("no".utf8)) })
        let answer = try await session.switchProtocols(to: "loop", Request("ws://example.com/"))
        #expect(answer.connection == nil && answer.body == Data("no".utf8))
        await session.shutdown()
    }

    @Test(arguments: [
        ("ws://a/b", "http://a/b"), ("WSS://a", "https://a"), ("http://a", "http://a"), ("wsx://a", "wsx://a"),
        ("/ws://a", "/ws://a"), ("ws:", "ws:"),
    ])
    func theSchemesOfWebSocketsStandForThoseOfHTTP(_ url: String, _ expected: String) {
        #expect(url.withHTTPScheme == expected)
    }
}
