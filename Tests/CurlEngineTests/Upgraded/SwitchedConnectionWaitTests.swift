import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The owner of a connection can end the waits of its reader and its writers.
@Suite(.timeLimit(.minutes(3)))
struct SwitchedConnectionWaitTests {
    private let run = SwitchRun()

    private func finish(_ server: LoopbackServer) async throws {
        try await run.end.opened()
        await run.run.finish()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    @Test func aReaderWhoseWaitEndsGetsNoBytes() async throws {
        let mayWrite = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayWrite)
            try connection.write("late")
            connection.waitUntilPeerCloses()
        }
        let connection = try await run.connect(server.url())
        let reader = Task { try await connection.read() }
        while connection.state.withLock({ $0.reader == nil }), !Task.isCancelled { await Task.yield() }
        connection.endWaits()
        #expect(try await reader.value == Data())
        // A later reader does not wait either.
        #expect(try await connection.read() == Data())
        let (readable, report) = AsyncStream.makeStream(of: Void.self)
        connection.whenReadable { report.finish() }
        mayWrite.open()
        for await _ in readable {}
        #expect(try connection.readAvailable() == Data("late".utf8))
        connection.close()
        try await finish(server)
    }

    @Test func writersWhoseWaitEndsAreDone() async throws {
        let mayRead = LoopbackServer.Gate()
        let server = try LoopbackServer.switching { connection in
            try connection.wait(for: mayRead)
            _ = try connection.readToEnd()
        }
        let connection = try await run.connect(server.url())
        let writer = Task {
            // More than the buffers of the system take.
            for _ in 0..<512 { try await connection.write(Data(count: 128 << 10)) }
        }
        while connection.state.withLock({ $0.writers.isEmpty }), !Task.isCancelled { await Task.yield() }
        connection.endWaits()
        try await writer.value
        mayRead.open()
        connection.close()
        try await finish(server)
    }
}
