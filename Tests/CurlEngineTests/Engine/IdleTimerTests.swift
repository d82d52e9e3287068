import Dispatch
import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// An engine has a timer for its idle connections only while there may be some, so that nothing wakes an engine whose connections all have
/// transfers. Each of them may have its transfer for days.
@Suite(.timeLimit(.minutes(3)))
struct IdleTimerTests {
    private static let lifetime = Duration.seconds(45)

    private let clock = TestClock()
    private let switching: SwitchRun
    private var run: EngineRun { switching.run }

    init() { switching = SwitchRun(run: EngineRun(clock: clock.engineSide)) }

    /// The state of an engine.
    private struct Facts: Equatable {
        let timers: Int
        let sockets: Int
        let usesLibcurl: Bool

        init(timers: Int, sockets: Int, usesLibcurl: Bool = true) {
            (self.timers, self.sockets, self.usesLibcurl) = (timers, sockets, usesLibcurl)
        }

        init(_ engine: CurlEngine) {
            self.init(
                timers: engine.executor.engineLoop.timerCount, sockets: engine.openSocketCount,
                usesLibcurl: engine.watches != nil)
        }

        static let ended = Facts(timers: 0, sockets: 0, usesLibcurl: false)
    }

    private func facts() async -> Facts { await run.onEngine { [run] in Facts(run.engine) } }

    /// Moves the clock, and lets the engine run a few turns.
    private func advance(by duration: Duration) async {
        clock.move(by: duration)
        for _ in 0..<4 { await run.onEngine {} }
    }

    private func echo(_ text: String, _ connection: SwitchedConnection) async throws {
        try await connection.write(Data(text.utf8))
        let bytes = try await connection.read(text.utf8.count)
        #expect(bytes == Array(text.utf8))
    }

    /// A server that responds when the gate is open.
    private func server(_ mayAnswer: LoopbackServer.Gate) throws -> LoopbackServer {
        try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: mayAnswer)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    /// The idle lifetime counts from the end of the last transfer.
    private func expectEndOfLibcurl(sockets: Int) async {
        #expect(await facts() == Facts(timers: 1, sockets: sockets))
        await advance(by: Self.lifetime - .nanoseconds(1))
        #expect(await facts() == Facts(timers: 1, sockets: sockets))
        await advance(by: .nanoseconds(1))
        #expect(await facts() == .ended)
    }

    @Test func whileThereAreOnlyTakenConnectionsNoTimerIsSet() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await switching.connect(server.url())
        try await echo("first", connection)
        for _ in 1...3 {
            await advance(by: Self.lifetime)
            #expect(await facts() == Facts(timers: 0, sockets: 1))
        }
        try await echo("last", connection)
        #expect(await facts() == Facts(timers: 0, sockets: 1))
        connection.close()
        try await switching.end.opened()
        await expectEndOfLibcurl(sockets: 0)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func aConnectionThatBecomesIdleBesideThemIsClosedInTime() async throws {
        let server = try LoopbackServer.echo()
        let other = try LoopbackServer.http { _ in .init(200) }
        let connection = try await switching.connect(server.url())
        try await echo("first", connection)
        await advance(by: Self.lifetime)
        let get = try EngineRun.get(other.url())
        for _ in 1...2 {
            _ = await run.perform(get)
            #expect(await facts() == Facts(timers: 1, sockets: 2))
            await advance(by: Self.lifetime - .nanoseconds(1))
            #expect(await facts() == Facts(timers: 1, sockets: 2))
        }
        #expect(other.acceptedCount == 1)
        await advance(by: .nanoseconds(1))
        try await other.waitUntilAllClosed()
        #expect(await facts().timers == 0)
        try await echo("last", connection)
        connection.close()
        try await switching.end.opened()
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// A server that sends its second response before it has read the second request, as soon as the gate is open.
    private func earlyServer(
        _ mayAnswer: LoopbackServer.Gate, _ isWritten: DispatchSemaphore
    ) throws -> LoopbackServer {
        try LoopbackServer { connection in
            guard try connection.nextRequest() != nil else { return }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try connection.wait(for: mayAnswer)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.waitUntilReceived()
            isWritten.signal()
            _ = try connection.nextRequest()
            guard try connection.nextRequest() != nil else { return }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = try connection.readToEnd()
        }
    }

    /// The response is there in the turn in which the request is sent. The use of the connection counts.
    @Test func aResponseThatComesInTheCallThatSendsItsRequestCountsAsAUse() async throws {
        let mayAnswer = LoopbackServer.Gate(), isWritten = DispatchSemaphore(value: 0)
        let server = try LoopbackServer.echo()
        let early = try earlyServer(mayAnswer, isWritten)
        let connection = try await switching.connect(server.url())
        try await echo("first", connection)
        let get = try EngineRun.get(early.url())
        #expect(await run.perform(get).text == "ok")
        await advance(by: Self.lifetime - .nanoseconds(1))
        let second = await run.perform(get) {
            mayAnswer.open()
            isWritten.wait()
        }
        #expect(second.text == "ok")
        // The lifetime since the first use is over.
        await advance(by: .nanoseconds(1))
        #expect(await facts() == Facts(timers: 1, sockets: 2))
        #expect(await run.perform(get).text == "ok")
        #expect(early.acceptedCount == 1)
        connection.close()
        try await switching.end.opened()
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func theEndOfALongRequestSetsTheTimer() async throws {
        let mayAnswer = LoopbackServer.Gate()
        let server = try server(mayAnswer)
        let get = try EngineRun.get(server.url())
        async let response = run.perform(get)
        try await server.waitUntilRequested(count: 1)
        await advance(by: Self.lifetime)
        #expect(await facts() == Facts(timers: 0, sockets: 1))
        mayAnswer.open()
        let text = await response.text
        #expect(text == "ok")
        await expectEndOfLibcurl(sockets: 1)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func theCancellationOfALongRequestSetsTheTimer() async throws {
        let server = try server(LoopbackServer.Gate())
        let get = try EngineRun.get(server.url())
        let outcome = EngineRun.Outcome()
        await run.onEngine { [run] in run.start(get, outcome) }
        try await server.waitUntilRequested(count: 1)
        await advance(by: Self.lifetime)
        #expect(await facts() == Facts(timers: 0, sockets: 1))
        await run.onEngine {
            outcome.transfer?.cancel()
            outcome.transfer = nil
        }
        await advance(by: .zero)
        await expectEndOfLibcurl(sockets: 0)
        await run.finish()
    }

    /// A transfer may have come to its gate while no timer was set.
    @Test func aTransferThatIsCancelledInItsGateSetsTheTimer() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await switching.connect(server.url())
        try await echo("first", connection)
        await advance(by: Self.lifetime)
        #expect(await facts() == Facts(timers: 0, sockets: 1))
        let get = try EngineRun.get(server.url())
        await run.onEngine { [run] in run.engine.leaveGates(run.engine.makeTransfer(get)) }
        #expect(await facts() == Facts(timers: 1, sockets: 1))
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func theThreadEndsWithoutATimer() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await switching.connect(server.url())
        try await echo("first", connection)
        await advance(by: Self.lifetime)
        await run.finish()
        await #expect(throws: ConnectionClosed.self) { try await connection.read() }
        try await server.waitUntilAllClosed()
    }
}
