import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The reader of a connection on which short messages go to and fro waits on the socket itself.
@Suite(.timeLimit(.minutes(3)))
struct DirectReadingTests {
    private let run = SwitchRun()

    private func finish(_ server: LoopbackServer) async throws {
        try await run.end.opened()
        await run.run.finish()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    /// Makes a connection whose waits all count as short.
    private func connect(_ server: LoopbackServer, wait: Int64 = 10_000_000_000) async throws -> SwitchedConnection {
        let connection = try await run.connect(server.url())
        connection.state.withLock { $0.direct.limits = DirectReading.Limits(short: .max, asleep: wait) }
        return connection
    }

    /// Sends a text when a reader waits, which gets the same text.
    private func exchange(_ text: String, on connection: SwitchedConnection) async throws {
        let reader = Task { try await connection.read() }
        while !connection.state.withLock({ $0.reader != nil || $0.direct.isReaderWaiting }), !Task.isCancelled {
            await Task.yield()
        }
        try await connection.write(Data(text.utf8))
        #expect(try await reader.value == Data(text.utf8))
    }

    /// Exchanges texts until the reader has waited on the socket once. The engine may have the socket for itself only after the first wait.
    private func beginDirectReading(on connection: SwitchedConnection) async throws {
        var count = 0
        while connection.state.withLock({ $0.direct.readCount }) == 0, !Task.isCancelled {
            try await exchange("\(count)", on: connection)
            count += 1
        }
        #expect(count > DirectReading.smallestCount)
    }

    @Test func theReaderWaitsOnTheSocketAfterShortWaits() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await connect(server)
        try await beginDirectReading(on: connection)
        for number in 0..<100 { try await exchange("\(number)", on: connection) }
        #expect(connection.movedBytes.received == connection.movedBytes.sent)
        connection.close()
        try await finish(server)
    }

    /// The engine thread watches the socket again when there is no reader.
    @Test func bytesAreNoticedWhenTheReaderHasStopped() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await connect(server)
        try await beginDirectReading(on: connection)
        let (readable, report) = AsyncStream.makeStream(of: Void.self)
        connection.whenReadable { report.finish() }
        try await connection.write(Data("late".utf8))
        for await _ in readable {}
        #expect(try connection.readAvailable() == Data("late".utf8))
        try await exchange("next", on: connection)
        connection.close()
        try await finish(server)
    }

    /// A reader on the thread of any engine does not block that thread.
    @Test func aReaderOnTheThreadOfAnotherEngineWaitsForItsOwn() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await connect(server)
        try await beginDirectReading(on: connection)
        let other = EngineExecutor()
        let reader = Task(executorPreference: other) { try await connection.read() }
        // Either the reader is known to the connection's engine, or it blocks the thread.
        while !connection.state.withLock({ $0.reader != nil || $0.direct.isReaderWaiting }), !Task.isCancelled {
            await Task.yield()
        }
        #expect(connection.state.withLock { !$0.direct.isReaderWaiting && !$0.direct.isOn })
        try await connection.write(Data("x".utf8))
        #expect(try await reader.value == Data("x".utf8))
        connection.close()
        await other.shutDown()
        try await finish(server)
    }

    @Test func theEndIsReadByTheEngine() async throws {
        let server = try LoopbackServer.switching { connection in
            while case let bytes = try connection.read(), !bytes.isEmpty, bytes != Array("end".utf8) {
                try connection.write(bytes)
            }
            connection.close()
        }
        let connection = try await connect(server)
        try await beginDirectReading(on: connection)
        let reader = Task { try await connection.read() }
        try await connection.write(Data("end".utf8))
        #expect(try await reader.value == nil)
        connection.close()
        try await finish(server)
    }

    @Test func aReaderOnAConnectionThatIsClosedGetsTheError() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await connect(server, wait: 200_000_000)
        try await beginDirectReading(on: connection)
        let reader = Task { try await connection.read() }
        while !connection.state.withLock({ $0.reader != nil || $0.direct.isReaderWaiting }), !Task.isCancelled {
            await Task.yield()
        }
        connection.close()
        await #expect(throws: ConnectionClosed.self) { try await reader.value }
        try await finish(server)
    }

    /// A wait on the socket that ends without bytes is continued by the engine thread.
    @Test func aWaitInVainIsContinued() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await connect(server, wait: 0)
        for number in 0..<100 { try await exchange("\(number)", on: connection) }
        #expect(connection.state.withLock { $0.direct.beginCount } > 0)
        connection.close()
        try await finish(server)
    }

    /// Many bytes at once are received by the engine thread, in larger pieces.
    @Test func aLargeMessageEndsTheReadsOnTheSocket() async throws {
        let server = try LoopbackServer.echo()
        let connection = try await connect(server)
        try await beginDirectReading(on: connection)
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let writer = Task { try await connection.write(Data(bytes)) }
        #expect(try await connection.read(bytes.count) == bytes)
        try await writer.value
        connection.close()
        try await finish(server)
    }

    // MARK: The decision

    /// A connection whose reader can wait on the socket.
    private final class Reader {
        var direct = DirectReading()

        init(isPossible: Bool = true) { direct.isPossible = isPossible }

        func waited(_ count: Int, nanoseconds: Int64 = 0) {
            for _ in 0..<count { direct.didWait(nanoseconds: nanoseconds) }
        }

        func begins() -> Bool { direct.beginWait() != nil }
        func ends(_ end: DirectReading.End) -> Bool { direct.end(end) }
    }

    @Test func onlyShortWaitsInARowCount() {
        let reader = Reader()
        let limit = reader.direct.limits.short
        reader.waited(7, nanoseconds: limit)
        #expect(!reader.begins())
        reader.waited(1, nanoseconds: limit + 1)
        reader.waited(7)
        #expect(!reader.begins())
        reader.waited(1)
        #expect(reader.begins() && reader.direct.isOn && reader.direct.beginCount == 1)
    }

    @Test func waitsInVainAreMadeLessOften() {
        let reader = Reader()
        var counts: [Int] = []
        for _ in 0..<10 {
            var count = 0
            while !reader.begins() {
                reader.waited(1)
                count += 1
            }
            counts.append(count)
            #expect(reader.ends(.inVain))
        }
        #expect(counts == [8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024])
    }

    @Test func readsInARowMakeTheNextBeginningEasy() {
        let reader = Reader()
        reader.waited(8)
        #expect(reader.begins() && reader.ends(.inVain))
        reader.waited(16)
        for _ in 0..<8 {
            #expect(reader.begins())
            reader.direct.didRead(hasSlept: true)
        }
        #expect(reader.ends(.over))
        #expect(!reader.ends(.over))
        reader.waited(8)
        #expect(reader.begins())
    }

    /// The reader suspends from time to time.
    @Test func aRunOfReadsIsLimited() {
        let reader = Reader()
        reader.waited(8)
        for _ in 1..<DirectReading.readsInARow {
            #expect(reader.begins())
            reader.direct.didRead(hasSlept: true)
        }
        #expect(!reader.direct.isRunOver)
        #expect(reader.begins())
        reader.direct.didRead(hasSlept: true)
        #expect(reader.direct.isRunOver && reader.ends(.over))
        #expect(!reader.begins())
        reader.waited(1)
        #expect(reader.begins() && !reader.direct.isRunOver)
    }

    /// A late message among many early ones, as on a machine that has other work.
    @Test func oneShortWaitIsEnoughAfterManyReads() {
        let reader = Reader()
        reader.waited(8)
        for _ in 0..<DirectReading.longRun {
            #expect(reader.begins())
            reader.direct.didRead(hasSlept: true)
        }
        #expect(reader.begins() && reader.ends(.inVain) && !reader.begins())
        reader.waited(1)
        #expect(reader.begins() && reader.ends(.inVain))
        reader.waited(8)
        #expect(!reader.begins())
        reader.waited(8)
        #expect(reader.begins())
    }

    /// The thread is awake at the beginning of a wait while that is useful.
    @Test func waitsBeginAsleepAfterOthersWhosePartAwakeWasInVain() {
        let reader = Reader()
        reader.direct.limits.awake = 5
        reader.waited(8)
        /// Reads until a wait begins awake, and ends in this wait. Returns the number of waits before it.
        func waits(hasSlept: Bool) -> Int {
            for count in 0... {
                let isAwake = reader.direct.beginWait()?.awake == 5
                reader.direct.didRead(hasSlept: !isAwake || hasSlept)
                if isAwake { return count }
            }
            return -1
        }
        #expect((1...9).map { _ in waits(hasSlept: true) } == [0, 1, 2, 4, 8, 16, 32, 64, 64])
        #expect((1...3).map { _ in waits(hasSlept: false) } == [64, 0, 0])
        #expect((1...3).map { _ in waits(hasSlept: true) } == [0, 1, 2])
        #expect(reader.direct.beginWait()?.awake == 0 && reader.ends(.inVain))
    }

    @Test func thePartAwakeOfAWaitThatEndsWithoutBytesWasInVain() {
        let reader = Reader()
        reader.direct.limits.awake = 5
        reader.waited(8)
        #expect(reader.direct.beginWait()?.awake == 5 && reader.ends(.inVain))
        reader.waited(16)
        #expect(reader.direct.beginWait()?.awake == 0)
        reader.direct.didRead(hasSlept: true)
        #expect(reader.direct.beginWait()?.awake == 5)
    }

    /// A reader that was refused has not been awake, so that its next wait begins awake.
    @Test func aRefusedReaderHasNotWaitedInVain() {
        let reader = Reader()
        reader.direct.limits.awake = 5
        reader.waited(8)
        #expect(reader.begins() && reader.ends(.refused))
        reader.waited(15)
        #expect(!reader.begins())
        reader.waited(1)
        #expect(reader.direct.beginWait()?.awake == 5)
    }

    @Test func nothingIsReadOnASocketThatTheEngineReads() {
        let impossible = Reader(isPossible: false)
        impossible.waited(100)
        #expect(!impossible.begins() && !impossible.direct.measuresWaits)
        let reader = Reader()
        reader.waited(8)
        reader.direct.isEngineReceiving = true
        #expect(!reader.begins())
        reader.direct.isEngineReceiving = false
        #expect(reader.begins())
    }
}
