import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Connections end when their owner, their session or their limits say so, and leave nothing behind.
@Suite(.timeLimit(.minutes(1)))
struct SwitchingEndTests {
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration)
    }

    static let silences = ["", "HTTP/1.1 10", "HTTP/1.1 103 Soon\r\n\r\n", "HTTP/1.1 101 Yes\r\nUpgrade: echo\r\n"]

    @Test(arguments: silences)
    func silenceBeforeTheSwitchReachesTheLimits(_ text: String) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(text)
            connection.waitUntilPeerCloses()
        }
        let session = session()
        let limits = [
            Timeouts(responseHead: .milliseconds(200)), Timeouts(idle: .milliseconds(200)),
            Timeouts(total: .milliseconds(200)),
        ]
        for (index, timeouts) in limits.enumerated() {
            var request = Request(server.url())
            request.timeouts = timeouts
            await expectFailure([index == 2 ? .deadline : .idleTimeout]) {
                try await session.switchProtocols(to: "echo", request).response
            }
        }
        try await server.waitUntilClosed(count: 3)
        await session.shutdown()
    }

    @Test func aHeadThatDripsReachesItsLimit() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.writeSlowly(String(repeating: SwitchingServer.head, count: 50), every: .milliseconds(20))
        }
        let session = session()
        var request = Request(server.url())
        request.timeouts = Timeouts(responseHead: .milliseconds(300))
        await expectFailure([.idleTimeout]) { try await session.switchProtocols(to: "echo", request).response }
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
        let session = session()
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
        let session = session { $0.limits.perOrigin = 2 }
        let first = try await session.switchProtocols(to: "echo", Request(server.url()))
        let second = try await session.switchProtocols(to: "echo", Request(server.url()))
        var impatient = Request(server.url())
        impatient.timeouts = Timeouts(total: .milliseconds(200))
        let error = await expectFailure([.deadline]) {
            try await session.switchProtocols(to: "echo", impatient).response
        }
        #expect(error?.phase == .queued)
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
