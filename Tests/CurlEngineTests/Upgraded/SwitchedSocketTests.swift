import FoundationEssentials
import Glibc
import Testing
import TrellisTesting

@testable import CurlEngine

/// A switched connection of a plain URL needs no handle of libcurl, and its socket is open, counted and observed until the connection ends.
@Suite(.timeLimit(.minutes(3)))
struct SwitchedSocketTests {
    private final class Observer: ConnectionObserver, ConnectionObservation {
        let begun = Locked(0)
        let ended = Locked(0)

        func begin(_ url: String) -> any ConnectionObservation {
            begun.withLock { $0 += 1 }
            return self
        }
        func change(isIdle: Bool) {}
        func end() { ended.withLock { $0 += 1 } }
    }

    /// The state of an engine with its connections.
    private struct Counts: Equatable {
        var inLibcurl = 0
        var open = 0
        var isBusy = false

        init() {}

        init(open: Int) { (self.open, isBusy) = (open, true) }

        init(_ engine: CurlEngine) {
            inLibcurl = engine.http3 == nil ? 0 : 1
            open = engine.openSocketCount
            isBusy = engine.isBusy
        }
    }

    private func counts(_ run: SwitchRun) async -> Counts { await run.run.onEngine { Counts(run.run.engine) } }

    private func socket(of connection: SwitchedConnection) -> Int32 { connection.state.withLock { $0.plainSocket } }

    /// Sends bytes, and reads them back.
    private func echo(_ text: String, _ connection: SwitchedConnection) async throws {
        try await connection.write(Data(text.utf8))
        let bytes = try await connection.read(text.utf8.count)
        #expect(bytes == Array(text.utf8))
    }

    /// Starts a server, connects an engine with it, and uses the connection.
    private func begin(
        _ run: SwitchRun = SwitchRun()
    ) async throws -> (LoopbackServer, SwitchRun, SwitchedConnection) {
        let server = try LoopbackServer.echo()
        let connection = try await run.connect(server.url())
        try await echo("hello", connection)
        return (server, run, connection)
    }

    /// Ends the connection and its engine, and waits until the server knows it.
    private func finish(_ connection: SwitchedConnection, _ run: SwitchRun, _ server: LoopbackServer) async throws {
        connection.close()
        try await run.end.opened()
        await run.run.finish()
        try await server.waitUntilAllClosed()
    }

    private func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }

    @Test func libcurlHasNoPartInTheConnection() async throws {
        let server = try LoopbackServer.echo()
        let run = SwitchRun()
        let connection = try await run.connect(server.url())
        try await echo("before", connection)
        #expect(await counts(run) == Counts(open: 1))
        for number in 0..<20 { try await echo("message \(number)", connection) }
        #expect(await counts(run) == Counts(open: 1))
        connection.close()
        try await run.end.opened()
        #expect(await counts(run) == Counts())
        await run.run.finish()
        try await server.waitUntilAllClosed()
        #expect(server.acceptedCount == 1 && server.errors.isEmpty)
    }

    /// Bytes that follow the head in the same packet are the first ones, whether a frame is complete in them or not.
    @Test func bytesBehindTheHeadAreKept() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(LoopbackServer.switching + String(repeating: "x", count: 5_000))
            while case let bytes = try connection.read(), !bytes.isEmpty { try connection.write(bytes) }
        }
        let run = SwitchRun()
        let connection = try await run.connect(server.url())
        let first = try await connection.read(5_000)
        #expect(first == [UInt8](repeating: UInt8(ascii: "x"), count: 5_000))
        try await echo("and then", connection)
        #expect(await counts(run) == Counts(open: 1))
        try await finish(connection, run, server)
    }

    /// The number of a socket that was closed belongs to another file at once. A second closing would close that file.
    @Test func theSocketIsClosedOnce() async throws {
        let (server, run, connection) = try await begin()
        let number = socket(of: connection)
        #expect(isOpen(number))
        connection.close()
        try await run.end.opened()
        try await server.waitUntilAllClosed()
        let other = fcntl(1, F_DUPFD_CLOEXEC, number)
        defer { close(other) }
        try #require(other == number)
        await run.run.finish()
        #expect(isOpen(other))
    }

    @Test func theEndOfTheEngineClosesTheSocket() async throws {
        let (server, run, connection) = try await begin()
        let number = socket(of: connection)
        #expect(isOpen(number))
        await run.run.finish()
        #expect(!isOpen(number))
        await #expect(throws: ConnectionClosed.self) { try await connection.read() }
        try await server.waitUntilAllClosed()
    }

    @Test func cancellingTheTransferClosesTheSocket() async throws {
        let (server, run, connection) = try await begin()
        await run.run.onEngine { connection.transfer.cancel() }
        await #expect(throws: ConnectionClosed.self) { try await connection.read() }
        try await server.waitUntilAllClosed()
        #expect(await counts(run) == Counts())
        await run.run.finish()
    }

    @Test func itsObservationEndsWithTheConnection() async throws {
        let observer = Observer()
        var configuration = EngineConfiguration()
        configuration.connectionObserver = observer
        let (server, run, connection) = try await begin(SwitchRun(run: EngineRun(configuration)))
        #expect(await counts(run) == Counts(open: 1))
        #expect(observer.begun.withLock { $0 } == 1 && observer.ended.withLock { $0 } == 0)
        connection.close()
        try await run.end.opened()
        #expect(observer.ended.withLock { $0 } == 1)
        await run.run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func itsMeasurementsAreKept() async throws {
        let server = try LoopbackServer.echo()
        let run = SwitchRun()
        let connection = try await run.connect(server.url())
        let text = String(repeating: "a", count: 100_000)
        try await echo(text, connection)
        let report = await run.run.onEngine { connection.transfer.measurements }
        #expect(report.peerAddress == "127.0.0.1" && report.peerPort == Int(server.port))
        #expect(report.connect > 0 && report.firstByte >= report.connect && !report.isReusedConnection)
        let head = try #require(server.requests.first).headBytes.count
        #expect(report.bytesSent == Int64(head + text.utf8.count))
        #expect(report.bytesReceived == Int64(LoopbackServer.switching.utf8.count + text.utf8.count))
        try await finish(connection, run, server)
    }

    /// Other connections are made, used and closed beside it, and the idle ones are closed for want of descriptors.
    @Test func otherConnectionsAreClosedBesideIt() async throws {
        let (server, run, connection) = try await begin()
        let other = try LoopbackServer.http { _ in .init(200) }
        let outcome = await run.run.perform(try EngineRun.get(other.url()))
        #expect(outcome.head?.status == 200)
        #expect(await counts(run) == Counts(open: 2))
        await run.run.onEngine { run.run.engine.closeIdleConnections(to: nil) }
        try await other.waitUntilAllClosed()
        try await echo("still there", connection)
        try await finish(connection, run, server)
    }

    /// A program that this process starts does not get the socket.
    @Test func theSocketIsClosedInOtherPrograms() async throws {
        let (server, run, connection) = try await begin()
        let number = socket(of: connection)
        let flags = fcntl(number, F_GETFD)
        #expect(flags >= 0 && flags & FD_CLOEXEC != 0)
        try await finish(connection, run, server)
    }
}
