import CCurl
import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// A connection on which a server has switched protocols inside TLS is the one on which the request was sent: the engine thread moves its
/// bytes through OpenSSL, and no other thread touches its socket.
@Suite(.timeLimit(.minutes(3)))
struct WireTLSUpgradeTests {
    /// A server, and a run whose transfers trust it.
    private struct World {
        let server: LoopbackServer
        let switching: SwitchRun
        let trust: TransferTrust

        init(_ version: TransferTrust.Version? = nil, _ server: (LoopbackServer.TLS) throws -> LoopbackServer) throws {
            let tls = try LoopbackServer.TLS()
            self.server = try server(tls)
            switching = SwitchRun()
            var rules = TransferTrust.Rules()
            rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false)
            rules.maximumVersion = version
            trust = TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: 1)
        }

        init(_ script: @escaping LoopbackServer.Script) throws {
            try self.init { try LoopbackServer.switching(tls: $0, script) }
        }

        func connect() async throws -> SwitchedConnection {
            try await switching.connect(server.url(), trust: trust)
        }

        /// Waits for the end of the transfer, after which the engine has no socket.
        func finish() async throws {
            try await switching.end.opened()
            let run = switching.run
            #expect(await run.onEngine { run.engine.openSocketCount } == 0)
            await run.finish()
            try await server.waitUntilAllClosed()
        }
    }

    @Test(arguments: [TransferTrust.Version.v1_2, .v1_3], [1, 1_000, 100_000, 2_000_000])
    func bytesComeBackAsTheyWereSent(_ version: TransferTrust.Version, _ count: Int) async throws {
        let world = try World(version) { try LoopbackServer.echo(tls: $0) }
        let connection = try await world.connect()
        #expect(connection.state.withLock { $0.plainSocket } == -1)
        let run = world.switching.run
        #expect(await run.onEngine { (run.engine.wire.openCount, run.engine.http3 == nil) == (1, true) })
        let sent = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 >> 5) })
        async let received = connection.read(2 * count)
        for _ in 1...2 { try await connection.write(sent) }
        #expect(try await received == [UInt8](sent + sent))
        connection.close()
        try await world.finish()
    }

    /// Many small messages, each of which waits for the answer to the one before: no wait of the reader is on the socket.
    @Test func messagesGoToAndFro() async throws {
        let world = try World { try LoopbackServer.echo(tls: $0) }
        let connection = try await world.connect()
        for number in 0..<200 {
            let text = "message \(number)"
            try await connection.write(Data(text.utf8))
            #expect(try await connection.read(text.utf8.count) == Array(text.utf8))
        }
        #expect(connection.state.withLock { $0.direct.beginCount } == 0)
        connection.close()
        try await world.finish()
    }

    /// TLS has received the bytes already, and the socket does not become ready for them.
    @Test func allBytesThatComeWithTheSwitchAreReceived() async throws {
        let count = 3 * SwitchedConnection.readAhead
        let world = try World { tls in
            try LoopbackServer(tls: tls) { connection in
                _ = try connection.readHead()
                try connection.write(LoopbackServer.switching + String(repeating: "x", count: count))
                connection.shutdownWrite()
            }
        }
        let connection = try await world.connect()
        #expect(try await connection.read(count + 1) == [UInt8](repeating: UInt8(ascii: "x"), count: count))
        connection.close()
        try await world.finish()
    }

    /// A server that does not stop to send fills the buffer for the reader, and then waits.
    @Test func aServerWaitsForASlowReader() async throws {
        let world = try World { connection in
            while true { try connection.write([UInt8](repeating: 7, count: 64 << 10)) }
        }
        let connection = try await world.connect()
        while connection.state.withLock({ !$0.isFull }), !Task.isCancelled { await Task.yield() }
        let run = world.switching.run
        #expect(await run.onEngine { connection.transfer.wire.connection?.interest } == [])
        #expect(connection.movedBytes.received <= Int64(SwitchedConnection.readAhead))
        #expect(try await connection.read(1 << 20).count >= 1 << 20)
        connection.close()
        try await world.finish()
    }

    @Test func anAnnouncedEndIsTheEnd() async throws {
        let world = try World { connection in
            try connection.write("last")
            connection.shutdownWrite()
            let answer = try connection.read(), end = try connection.read()
            #expect(answer == Array("answer".utf8) && end.isEmpty)
        }
        let connection = try await world.connect()
        #expect(try await connection.read(5) == Array("last".utf8))
        // The other direction is still open.
        try await connection.write(Data("answer".utf8))
        connection.close()
        try await world.finish()
        #expect(world.server.errors.isEmpty)
    }

    /// An attacker may have cut the connection.
    @Test func anEndWithoutAnAlertIsAFailure() async throws {
        let world = try World { connection in
            try connection.write("last")
            connection.shutdownWrite(notifying: false)
        }
        let connection = try await world.connect()
        #expect(try await connection.read(4) == Array("last".utf8))
        await #expect(throws: EngineFailure.self) { try await connection.read() }
        try await world.finish()
    }

    /// A socket that has bytes is not watched for them while TLS takes none: it would be ready again and again.
    @Test func aMessageOfTLSForWhichTheSocketHasNoRoomComesFirst() {
        let channel = ConnectionChannel(WireLink(socket: -1, tls: nil))
        func outcome(of result: Int32) -> ConnectionChannel.Outcome {
            channel.outcome(of: Int(result), "Recv", CURLE_RECV_ERROR)
        }
        guard case .mustSend = outcome(of: CCURL_TLS_FULL), case .mustReceive = outcome(of: CCURL_TLS_MORE),
            case .mustWait = outcome(of: CCURL_TLS_WAIT), case .failed = outcome(of: CCURL_TLS_CUT_OFF)
        else {
            Issue.record("another outcome")
            return
        }
    }

    /// Messages of TLS without content may arrive without end. Other requests go on.
    @Test func endlessKeyUpdatesKeepNoOtherRequest() async throws {
        let isOver = LoopbackServer.Gate()
        let world = try World { connection in
            connection.limitSendBuffer(to: 64 << 10)
            repeat { try connection.updateKey(times: 1000) } while !isOver.isOpen
            try connection.write("last")
            connection.waitUntilPeerCloses()
        }
        let other = try LoopbackServer.http { _ in .text("other") }
        let connection = try await world.connect()
        let run = world.switching.run
        for _ in 1...20 { #expect(try await run.perform(EngineRun.get(other.url("/"))).text == "other") }
        isOver.open()
        #expect(try await connection.read(4) == Array("last".utf8))
        await run.onEngine { run.engine.closeIdleConnections(to: nil) }
        connection.close()
        try await world.finish()
    }

    @Test func aResetIsAFailure() async throws {
        let world = try World { connection in
            // A reset drops what the client's kernel does not have.
            connection.waitUntilReceived()
            connection.reset()
        }
        let connection = try await world.connect()
        await #expect(throws: EngineFailure.self) { try await connection.read() }
        try await world.finish()
    }

    /// The last bytes leave, and the server is told that they are the last ones.
    @Test func theEndIsToldToTheServer() async throws {
        let world = try World { connection in
            let last = try connection.read(exactly: 3), end = try connection.read()
            #expect(last == Array("bye".utf8) && end.isEmpty)
        }
        let connection = try await world.connect()
        connection.setFarewell(Data("bye".utf8))
        let run = world.switching.run
        await run.onEngine { connection.transfer.endConnection(with: ConnectionClosed()) }
        try await world.finish()
        #expect(world.server.errors.isEmpty)
    }

    @Test func aRefusalIsAResponse() async throws {
        let world = try World { tls in
            try LoopbackServer(tls: tls) { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nbody")
            }
        }
        let options = try SwitchRun.options(world.server.url(), trust: world.trust)
        guard case .ended(let head, let body, let end) = await world.switching.start(options) else {
            Issue.record("the protocols were switched")
            return
        }
        #expect(head?.status == 403 && body == Array("body".utf8) && end.failure == nil)
        #expect(end.report.tls > 0 && end.report.bytesSent > 0 && end.report.isConnectionKept != true)
        try await world.finish()
    }
}
