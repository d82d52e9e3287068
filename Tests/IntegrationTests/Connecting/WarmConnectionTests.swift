import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Connections that a session opens before its requests.
@Suite(.timeLimit(.minutes(2)))
struct WarmConnectionTests {
    private static func session(
        _ engines: EngineCount = .one, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = engines
        change(&configuration)
        return Session(configuration: configuration)
    }

    @Test(arguments: [1, 2])
    func requestsUseConnectionsThatWereOpenedBefore(_ engines: Int) async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.fixed(engines))
        try await session.connect(to: server.url("/a"), count: 3)
        try await server.waitUntilAccepted(count: 3)
        #expect(server.acceptedCount == 3 && server.requests.isEmpty)
        try await session.connect(to: server.url("/b"), count: 3)
        #expect(server.acceptedCount == 3)
        let (_, response) = try await session.data(server.url())
        #expect(response.metrics.isReusedConnection)
        #expect(server.acceptedCount == 3)
        await session.shutdown()
    }

    @Test func theLimitsHold() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session { $0.limits = ConnectionLimits(total: 3, perOrigin: 2) }
        try await session.connect(to: server.url(), count: 100)
        try await server.waitUntilAccepted(count: 2)
        #expect(server.acceptedCount == 2)
        try await session.connect(to: server.url(), count: 0)
        #expect(server.acceptedCount == 2)
        await session.shutdown()
    }

    @Test(arguments: [1, 2])
    func requestsOverHTTP2ShareOneConnectionThatWasOpenedBefore(_ engines: Int) async throws {
        let server = try LoopbackServer.http2()
        let session = Self.session(.fixed(engines)) { $0.httpVersion = .http2PriorKnowledge }
        try await session.connect(to: server.url(), count: 3)
        try await server.waitUntilAccepted(count: 1)
        let (_, response) = try await session.data(server.url())
        #expect(response.version == .http2 && response.metrics.isReusedConnection)
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    /// A connection in use counts, however long its request lasts.
    @Test(arguments: [1, 2])
    func nothingWaitsForConnectionsThatAreInUse(_ engines: Int) async throws {
        let mayEnd = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            try connection.wait(for: mayEnd)
            try connection.write("ok")
        }
        let session = Self.session(.fixed(engines)) { $0.limits.perOrigin = 1 }
        let stream = try await session.stream(server.url())
        try await session.connect(to: server.url(), count: 3)
        mayEnd.open()
        #expect(try await stream.chunks.collect(upTo: 10).count == 2)
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    @Test func aFailureIsThrown() async throws {
        let session = Self.session()
        let url = "http://127.0.0.1:\(try ClosedPort().port)/"
        let error = await #expect(throws: TrellisError.self) { try await session.connect(to: url, count: 2) }
        #expect(error?.kind == .connect)
        await session.shutdown()
        let late = await #expect(throws: TrellisError.self) { try await session.connect(to: url) }
        #expect(late?.kind == .cancelled)
    }

    /// Otherwise the session would look like one that has sent requests.
    @Test func monitorsAreToldNothing() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session()
        let events = session.requestEvents
        try await session.connect(to: server.url())
        let first = try await session.data(server.url()).1.metrics
        #expect(first.isReusedConnection)
        await session.shutdown()
        var calls: Set<UInt64> = []
        for await event in events { calls.insert(event.callID) }
        #expect(calls.count == 1)
    }

    @Test func connectionsAreKeptOpen() async throws {
        let mayClose = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            guard connection.ordinal > 2 else { return try connection.wait(for: mayClose) }
            while try connection.nextRequest() != nil {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let clock = TestClock()
        var configuration = SessionConfiguration()
        configuration.keptConnections = [server.url(): 2]
        let session = Session(configuration: configuration, clock: clock)
        try await server.waitUntilAccepted(count: 2)
        mayClose.open()
        // The connections have not lasted, and so the session pauses.
        // It may notice the end of the second one after another pause.
        try await clock.move(by: .seconds(1), in: session) { server.acceptedCount >= 4 }
        // The engine may not know yet that they are there, and would open another one for the request.
        await session.settle()
        #expect(try await session.string(server.url()) == "ok")
        await session.shutdown()
        #expect(server.acceptedCount == 4)
    }

    /// A program may cancel its requests at any time.
    @Test func connectionsAreKeptOpenAfterAllRequestsWereCancelled() async throws {
        // The server does not answer the handshake.
        let server = try LoopbackServer { connection in _ = try connection.readToEnd() }
        let clock = TestClock()
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http1Only
        configuration.keptConnections = [server.url(scheme: "https"): 1]
        let session = Session(configuration: configuration, clock: clock)
        try await server.waitUntilAccepted(count: 1)
        await session.cancelAllRequests()
        await clock.waitForSleepers()
        clock.move(by: .seconds(1))
        try await server.waitUntilAccepted(count: 2)
        await session.shutdown()
    }

    /// The session ends, although it keeps connections open.
    @Test func connectionsThatAreKeptEndWithTheSession() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        do {
            let session = Self.session { $0.keptConnections = [server.url(): 2, "http://127.0.0.1:1/": 1, "": 1] }
            try await server.waitUntilAccepted(count: 2)
            // The engine may not know yet that they are there, and would open another one for the request.
            await session.settle()
            #expect(try await session.string(server.url()) == "hello")
        }
        try await server.waitUntilAllClosed()
        #expect(server.acceptedCount == 2)
    }
}
