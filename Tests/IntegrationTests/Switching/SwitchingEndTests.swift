import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Connections end when their owner, their session or their limits say so, and leave nothing behind.
@Suite(.timeLimit(.minutes(3)))
struct SwitchingEndTests {
    private let clock = TestClock()

    private func session(
        clock: TestClock? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    static let silences = ["", "HTTP/1.1 10", "HTTP/1.1 103 Soon\r\n\r\n", "HTTP/1.1 101 Yes\r\nUpgrade: echo\r\n"]

    @Test(arguments: silences)
    func silenceBeforeTheSwitchReachesTheLimits(_ text: String) async throws {
        let session = session(clock: clock), limit = Duration.seconds(20)
        let reached = (0..<3).map { _ in LoopbackServer.Gate() }
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(text)
            if reached.indices.contains(connection.ordinal - 1) { reached[connection.ordinal - 1].open() }
            connection.waitUntilPeerCloses()
        }
        let limits = [
            Timeouts(responseHead: limit, total: nil), Timeouts(idle: limit, total: nil), Timeouts(total: limit),
        ]
        let reasons: [TrellisError.Timeout] = [.responseHead, .idle, .total]
        let kinds: [TrellisError.Kind] = [.responseTimeout, .idleTimeout, .totalTimeout]
        for (index, timeouts) in limits.enumerated() {
            let request = Request(server.url()).withTimeouts(timeouts)
            let error = try await expectTimeout(
                [kinds[index]], after: limit, on: clock, in: session, once: reached[index]
            ) { try await session.switchProtocols(to: "echo", request).response }
            #expect(error?.reason == .timedOut(reasons[index]))
        }
        try await server.waitUntilClosed(count: 3)
        await session.shutdown()
    }

    @Test func aHeadThatDripsReachesItsLimit() async throws {
        let pieces = PacedPieces(SwitchingServer.head.prefix(15).map(String.init))
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try pieces.write(to: connection)
        }
        let session = session(clock: clock)
        let request = Request(server.url()).withTimeouts(
            Timeouts(responseHead: .seconds(300), idle: nil, total: .seconds(3600)))
        async let error = expectFailure([.responseTimeout]) {
            try await session.switchProtocols(to: "echo", request).response
        }
        try await pieces.advance(clock, by: .seconds(20), in: session)
        #expect(await error?.reason == .timedOut(.responseHead))
        try await server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func aHeadAboveTheLimitIsMalformed() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 101 Yes\r\n")
            for _ in 0..<100 { try connection.write("X: " + String(repeating: "a", count: 1_000) + "\r\n") }
            connection.waitUntilPeerCloses()
        }
        let session = session()
        await expectFailure([.malformedResponse]) {
            try await session.switchProtocols(to: "echo", Request(server.url())).response
        }
        try await server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func aReleasedConnectionIsClosed() async throws {
        let server = try SwitchingServer.start()
        let session = session()
        _ = try await session.switchProtocols(to: "echo", Request(server.url()))
        try await server.waitUntilClosed(count: 1)
        await session.shutdown()
    }

    @Test func aConnectionKeepsItsSessionAlive() async throws {
        let server = try SwitchingServer.start()
        let connection = try #require(
            try await Session().switchProtocols(to: "echo", Request(server.url())).connection)
        try await SwitchingServer.converse(connection)
        connection.close()
        try await server.waitUntilAllClosed()
    }

    @Test func theShutdownEndsReadersWithItsError() async throws {
        let server = try SwitchingServer.start()
        let session = session()
        let connection = try #require(
            try await session.switchProtocols(to: "echo", Request(server.url())).connection)
        try await SwitchingServer.converse(connection)
        async let end = expectFailure([.cancelled]) { try await connection.read() }
        async let shutdown: Void = session.shutdown()
        #expect(await end?.reason == .cancelled(.sessionShutDown))
        await shutdown
        let error = await expectFailure([.cancelled]) { try await connection.write(Data("x".utf8)) }
        #expect(error?.reason == .cancelled(.sessionShutDown) && error?.url == server.url())
        try await server.waitUntilAllClosed()
        await expectFailure([.cancelled]) {
            try await session.switchProtocols(to: "echo", Request(server.url())).response
        }
    }

    @Test func aDrainWaitsForTheConnection() async throws {
        let server = try SwitchingServer.start()
        // The clock stands still, and so the grace is not over before the conversation.
        let session = session(clock: clock)
        let connection = try #require(
            try await session.switchProtocols(to: "echo", Request(server.url())).connection)
        async let shutdown: Void = session.shutdown(drainingFor: .seconds(30))
        for _ in 0..<20 { try await SwitchingServer.converse(connection) }
        connection.close()
        await shutdown
        try await server.waitUntilAllClosed()
    }

    @Test func theLimitOfTheOriginCountsConnectionsUntilTheyAreClosed() async throws {
        let server = try SwitchingServer.start()
        let events = ConnectionEvents()
        let session = session(clock: clock) {
            $0.limits.perOrigin = 2
            $0.eventMonitors = [events]
        }
        let first = try await session.switchProtocols(to: "echo", Request(server.url()))
        let second = try await session.switchProtocols(to: "echo", Request(server.url()))
        let impatient = Request(server.url()).withTimeouts(Timeouts(total: .seconds(20)))
        let queued = LoopbackServer.Gate()
        async let failure = expectTimeout([.totalTimeout], after: .seconds(20), on: clock, in: session, once: queued) {
            try await session.switchProtocols(to: "echo", impatient).response
        }
        try await events.wait(for: "queued", count: 3)
        queued.open()
        #expect(try await failure?.phase == .queued)
        async let third = session.switchProtocols(to: "echo", Request(server.url()))
        try await SwitchingServer.check(first)
        try await SwitchingServer.check(try await third)
        try await SwitchingServer.check(second)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.acceptedCount == 3)
    }

    @Test func theEndOfThePeerFreesNoPlaceButItsResetDoes() async throws {
        let mayReset = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(SwitchingServer.head)
            try connection.wait(for: mayReset)
            connection.reset()
        }
        let session = session { $0.limits.perOrigin = 1 }
        let connection = try #require(
            try await session.switchProtocols(to: "echo", Request(server.url())).connection)
        mayReset.open()
        let error = await expectFailure([.receive]) { try await connection.read() }
        #expect(error?.phase == .receiving)
        _ = try await session.switchProtocols(to: "echo", Request(server.url()))
        await session.shutdown()
    }

    @Test(arguments: 0..<40)
    func aCallMayBeCancelledAtEachMoment(_ moment: Int) async throws {
        let server = try SwitchingServer.start()
        let session = session()
        let call = Task {
            let answer = try await session.switchProtocols(to: "echo", Request(server.url()))
            if let connection = answer.connection { while try await connection.read() != nil {} }
        }
        for _ in 0..<(moment * moment) { await Task.yield() }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func noDescriptorsAreLeft() async throws {
        let server = try SwitchingServer.start(["/no": "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"])
        let session = session()
        for round in 0..<50 {
            let path = round % 2 == 0 ? "/no" : "/"
            let answer = try await session.switchProtocols(to: "echo", Request(server.url(path)))
            if let connection = answer.connection { try await SwitchingServer.converse(connection) }
        }
        try await server.waitUntilClosed(count: 50)
        await session.shutdown()
        #expect(server.openCount == 0)
    }

    /// A task on the executor of the connection reads and writes without a thread switch.
    @Test func aTaskOnTheConnectionsExecutorConverses() async throws {
        let server = try SwitchingServer.start()
        let session = session()
        let connection = try #require(
            try await session.switchProtocols(to: "echo", Request(server.url())).connection)
        guard let executor = connection.executor else {
            Issue.record("the connection has no executor")
            return
        }
        try await withTaskExecutorPreference(executor) {
            for _ in 0..<100 { try await SwitchingServer.converse(connection) }
        }
        connection.close()
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
