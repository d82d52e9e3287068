import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// An upgrade of a plain URL is a request of the engine's own connection, which belongs to the other protocol after the 101.
@Suite(.timeLimit(.minutes(3)))
struct WireUpgradeTests {
    /// A delegate that suspends its transfer at the first informational head, and then closes the connection that it gets.
    private final class Suspending: TransferDelegate, @unchecked Sendable {
        // Unchecked: used on the engine thread.
        var transfer: Transfer?
        private(set) var hasSwitched = false
        let suspended = LoopbackServer.Gate()
        let ended = LoopbackServer.Gate()

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {
            transfer?.suspend(true)
            suspended.open()
        }
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidSwitchProtocols(_ head: WireHead, _ connection: SwitchedConnection) {
            hasSwitched = true
            connection.close()
        }
        func transferDidEnd(_ end: TransferEnd) {
            transfer = nil
            ended.open()
        }
    }

    @Test func aSwitchThatNobodyHasAskedForIsAFailure() async throws {
        let server = try LoopbackServer.switching { _ in }
        let run = EngineRun()
        let end = await run.perform(try EngineRun.get(server.url())).end
        #expect(end?.failure?.kind == .head(.unexpectedStatus(101)))
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    /// The connection of a refused upgrade is closed, and the idle one is left to the other requests.
    @Test func anUpgradeHasAConnectionOfItsOwn() async throws {
        let server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
            }
        }
        let switching = SwitchRun()
        let run = switching.run
        let get = try EngineRun.get(server.url())
        #expect(await run.perform(get).text == "good")
        guard case .ended(let head, let body, let end) = await switching.start(try SwitchRun.options(server.url()))
        else {
            Issue.record("the protocols were switched")
            return
        }
        #expect(head?.status == 200 && body == Array("good".utf8) && end.failure == nil)
        #expect(server.acceptedCount == 2 && !end.report.isReusedConnection)
        #expect(await run.onEngine { run.engine.openSocketCount } == 1)
        let second = await run.perform(get)
        #expect(second.text == "good" && second.end?.report.isReusedConnection == true)
        #expect(server.acceptedCount == 2)
        await run.finish()
    }

    /// The bytes exceed what is received before a reader takes some.
    @Test func allBytesThatComeWithTheSwitchAreReceived() async throws {
        let count = 3 * SwitchedConnection.readAhead
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(LoopbackServer.switching + String(repeating: "x", count: count))
        }
        let run = SwitchRun()
        let connection = try await run.connect(server.url())
        let received = try await connection.read(count + 1)
        #expect(received == [UInt8](repeating: UInt8(ascii: "x"), count: count))
        connection.close()
        try await run.end.opened()
        await run.run.finish()
        #expect(server.errors.isEmpty)
    }

    /// The 101 comes with an informational head, at which the transfer is suspended.
    @Test func aSuspendedUpgradeGoesOn() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 103 Soon\r\n\r\n" + LoopbackServer.switching + "more")
            connection.waitUntilPeerCloses()
        }
        let run = EngineRun()
        let options = try SwitchRun.options(server.url())
        let delegate = Suspending()
        await run.onEngine { delegate.transfer = run.engine.start(options, delegate: delegate) }
        try await delegate.suspended.opened()
        let hasSwitched = await run.onEngine { delegate.hasSwitched }
        #expect(!hasSwitched)
        await run.onEngine { delegate.transfer?.suspend(false) }
        try await delegate.ended.opened()
        #expect(await run.onEngine { delegate.hasSwitched })
        try await server.waitUntilAllClosed()
        await run.finish()
    }

    @Test func anUpgradeIsCancelledBeforeItsAnswer() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            connection.waitUntilPeerCloses()
        }
        let run = EngineRun()
        let options = try SwitchRun.options(server.url())
        let transfer = await run.onEngine { run.engine.start(options, delegate: EngineRun.Outcome()) }
        try await server.waitUntilRequested(count: 1)
        await run.onEngine { transfer.cancel() }
        try await server.waitUntilAllClosed()
        #expect(await run.onEngine { run.engine.isBusy } == false)
        await run.finish()
    }

    /// A delegate may close the connection as soon as it gets it.
    @Test func aConnectionForWhichThereIsNoUseIsClosed() async throws {
        let server = try LoopbackServer.switching { $0.waitUntilPeerCloses() }
        let run = EngineRun()
        let outcome = await run.perform(try SwitchRun.options(server.url()))
        #expect(outcome.end?.failure == nil && outcome.head == nil)
        try await server.waitUntilAllClosed()
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }
}
