import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The connection after a response of status 101 carries bytes both ways.
@Suite(.timeLimit(.minutes(3)))
struct SwitchedConnectionTests {
    private let run = SwitchRun()

    private static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    }

    private func finish(_ server: LoopbackServer) async throws {
        try await run.end.opened()
        await run.run.finish()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    @Test(arguments: [1, 14, 1_000, 16 << 10, 100_000, 3 << 20])
    func bytesComeBackAsTheyWereSent(_ count: Int) async throws {
        let server = try LoopbackServer.echo()
        let connection = try await run.connect(server.url())
        let sent = Self.bytes(count)
        async let received = connection.read(3 * count)
        for _ in 1...3 { try await connection.write(sent) }
        #expect(try await received == [UInt8](sent + sent + sent))
        connection.close()
        try await finish(server)
        let request = try #require(server.requests.first)
        #expect(
            String(decoding: request.headBytes, as: UTF8.self)
                == "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAccept: */*\r\nUpgrade: echo\r\n"
                + "Connection: Upgrade\r\nX-Empty:\r\n\r\n")
    }

    @Test func bytesThatFollowTheHeadAreTheFirstOnes() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(LoopbackServer.switching + "first")
            try connection.write(connection.read(exactly: 3))
        }
        let connection = try await run.connect(server.url())
        #expect(try await connection.read(5) == Array("first".utf8))
        try await connection.write(Data("two".utf8))
        #expect(try await connection.read(100) == Array("two".utf8))
        connection.close()
        try await finish(server)
    }

    @Test func aWriterWaitsForAServerThatDoesNotRead() async throws {
        let mayRead = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayRead)
            let count = try connection.readToEnd()
            #expect(count == 32 << 20)
        }
        let connection = try await run.connect(server.url())
        let writer = Task {
            for _ in 0..<512 { try await connection.write(Data(count: 64 << 10)) }
        }
        while connection.state.withLock({ $0.writers.isEmpty }), !Task.isCancelled { await Task.yield() }
        #expect(connection.state.withLock { $0.outgoing.count } <= 128 << 10)
        mayRead.open()
        try await writer.value
        while connection.state.withLock({ $0.outgoing.count }) > 0, !Task.isCancelled { await Task.yield() }
        connection.close()
        try await finish(server)
    }

    @Test func theServerOfAReaderThatDoesNotReadIsStopped() async throws {
        let total = 64 << 20
        let server = try LoopbackServer.switching { connection in
            connection.limitSendBuffer(to: 64 << 10)
            for _ in 0..<(total >> 16) { try connection.write([UInt8](repeating: 7, count: 64 << 10)) }
        }
        let connection = try await run.connect(server.url())
        while connection.state.withLock({ !$0.isFull }), !Task.isCancelled { await Task.yield() }
        // The system's own buffers are filled further, but the connection takes no more.
        for _ in 0..<10_000 { await Task.yield() }
        #expect(connection.state.withLock { $0.received.count } < 2 * SwitchedConnection.readAhead)
        #expect(server.bytesWritten < total / 2)
        var count = 0
        while let bytes = try await connection.read() { count += bytes.count }
        #expect(count == total)
        connection.close()
        try await finish(server)
    }

    @Test func afterTheEndOfThePeerBytesCanBeSent() async throws {
        let server = try LoopbackServer.switching { connection in
            try connection.write("bye")
            connection.shutdownWrite()
            let bytes = try connection.read(exactly: 6)
            #expect(bytes == Array("thanks".utf8))
        }
        let connection = try await run.connect(server.url())
        #expect(try await connection.read(100) == Array("bye".utf8))
        #expect(try await connection.read() == nil)
        try await connection.write(Data("thanks".utf8))
        connection.close()
        try await finish(server)
    }

    @Test func aResetEndsReadersAfterTheReceivedBytes() async throws {
        let mayReset = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.write("last words")
            try connection.wait(for: mayReset)
            connection.reset()
        }
        let connection = try await run.connect(server.url())
        while connection.state.withLock({ $0.received.count }) < 10, !Task.isCancelled { await Task.yield() }
        mayReset.open()
        try await run.end.opened()
        #expect(try await connection.read(10) == Array("last words".utf8))
        let error = await #expect(throws: EngineFailure.self) { try await connection.read() }
        #expect(error?.kind == .receive)
        await #expect(throws: EngineFailure.self) { try await connection.write(Data("x".utf8)) }
        try await finish(server)
    }

    @Test func closingEndsReadersAndWriters() async throws {
        // The end of the connection comes after the bytes that the server does not read.
        let mayRead = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayRead)
            #expect(try connection.readToEnd() < 48 << 20)
        }
        let connection = try await run.connect(server.url())
        let reader = Task { try await connection.read() }
        let writers = (0..<3).map { _ in Task { try await connection.write(Data(count: 16 << 20)) } }
        while connection.state.withLock({ $0.reader == nil || $0.writers.count < 3 }), !Task.isCancelled {
            await Task.yield()
        }
        connection.close()
        await #expect(throws: ConnectionClosed.self) { try await reader.value }
        for writer in writers { await #expect(throws: ConnectionClosed.self) { try await writer.value } }
        await #expect(throws: ConnectionClosed.self) { try await connection.read() }
        await #expect(throws: ConnectionClosed.self) { try await connection.write(Data("x".utf8)) }
        connection.close()
        mayRead.open()
        try await finish(server)
    }

    @Test func aFewLastBytesAreSentBeforeTheConnectionIsClosed() async throws {
        let server = try LoopbackServer.switching { connection in
            let bytes = try connection.read(exactly: 8)
            #expect(bytes == Array("farewell".utf8))
        }
        let connection = try await run.connect(server.url())
        try await connection.write(Data("farewell".utf8))
        connection.close()
        try await finish(server)
    }

    /// Bytes that no reader waits for are announced once, and are there without waiting.
    @Test func aListenerIsToldOfWhatCanBeRead() async throws {
        let mayWrite = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayWrite)
            try connection.write("news")
            connection.shutdownWrite()
            connection.waitUntilPeerCloses()
        }
        let connection = try await run.connect(server.url())
        #expect(try connection.readAvailable() == Data())
        let readable = LoopbackServer.Gate()
        connection.whenReadable { readable.open() }
        #expect(!readable.isOpen)
        mayWrite.open()
        try await readable.opened()
        #expect(try await connection.read(4) == Array("news".utf8))
        let atOnce = LoopbackServer.Gate()
        connection.whenReadable { atOnce.open() }
        try await atOnce.opened()
        #expect(try connection.readAvailable() == nil)
        connection.close()
        #expect(throws: ConnectionClosed.self) { try connection.readAvailable() }
        try await finish(server)
    }

    /// A reader takes the place of a listener, which the end of the connection tells too.
    @Test func aReaderReplacesAListener() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await run.connect(server.url())
        let told = LoopbackServer.Gate()
        connection.whenReadable { told.open() }
        let reader = Task { try await connection.read(3) }
        while connection.state.withLock({ $0.reader == nil }), !Task.isCancelled { await Task.yield() }
        try await connection.write(Data("abc".utf8))
        #expect(try await reader.value == Array("abc".utf8))
        #expect(!told.isOpen)
        let closed = LoopbackServer.Gate()
        connection.whenReadable { closed.open() }
        connection.close()
        try await closed.opened()
        try await finish(server)
    }

    /// A task on the engine's thread sends at once, and its further bytes together.
    @Test func aWriterOnTheEngineThreadKeepsTheOrder() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await run.connect(server.url())
        let sent = (0..<400).map { Self.bytes(1_000 + $0) }
        async let received = connection.read(sent.reduce(0) { $0 + $1.count })
        try await Task(executorPreference: run.run.executor) {
            for bytes in sent { try await connection.write(bytes) }
        }.value
        #expect(try await received == sent.flatMap { [UInt8]($0) })
        connection.close()
        try await finish(server)
    }

    @Test func aCancelledReaderLeavesTheConnectionToTheNext() async throws {
        let mayWrite = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayWrite)
            try connection.write("late")
        }
        let connection = try await run.connect(server.url())
        let reader = Task { try await connection.read() }
        while connection.state.withLock({ $0.reader == nil }), !Task.isCancelled { await Task.yield() }
        await #expect(throws: EngineFailure.self) { try await connection.read() }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        mayWrite.open()
        #expect(try await connection.read(4) == Array("late".utf8))
        connection.close()
        try await finish(server)
    }

    @Test func aCancelledWriterHasSentItsBytes() async throws {
        let mayRead = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayRead)
            #expect(try connection.readToEnd() == (16 << 20) + 3)
        }
        let connection = try await run.connect(server.url())
        let writer = Task { try await connection.write(Data(count: 16 << 20)) }
        while connection.state.withLock({ $0.writers.isEmpty }), !Task.isCancelled { await Task.yield() }
        writer.cancel()
        await #expect(throws: CancellationError.self) { try await writer.value }
        mayRead.open()
        try await connection.write(Data("end".utf8))
        while connection.state.withLock({ $0.outgoing.count }) > 0, !Task.isCancelled { await Task.yield() }
        connection.close()
        try await finish(server)
    }

    @Test func theEndOfTheEngineEndsTheConnection() async throws {
        let server = try LoopbackServer.switching { $0.waitUntilPeerCloses() }
        weak var engine: CurlEngine?
        do {
            let run = SwitchRun()
            engine = run.run.engine
            let connection = try await run.connect(server.url())
            let reader = Task { try await connection.read() }
            while connection.state.withLock({ $0.reader == nil }), !Task.isCancelled { await Task.yield() }
            await run.run.finish()
            await #expect(throws: ConnectionClosed.self) { try await reader.value }
        }
        try await server.waitUntilAllClosed()
        // The engine and its connections refer to each other as long as they are open.
        while engine != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func manyConnectionsShareOneEngine() async throws {
        let server = try LoopbackServer.echo()
        let run = EngineRun()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let mine = SwitchRun(run: run)
                    let connection = try await mine.connect(server.url("/\(number)"))
                    for _ in 1...20 {
                        try await connection.write(Self.bytes(1_000 + number))
                        #expect(try await connection.read(1_000 + number) == [UInt8](Self.bytes(1_000 + number)))
                    }
                    connection.close()
                    try await mine.end.opened()
                }
            }
            try await group.waitForAll()
        }
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
        try await server.waitUntilAllClosed()
        #expect(server.acceptedCount == 64)
    }
}

extension SwitchedConnection {
    /// Adds bytes to those that are sent, and returns when there is room for more.
    func write(_ bytes: Data) async throws {
        if try !send(bytes) { try await waitForRoom() }
    }
}
