import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The pace of a WebSocket over a real socket is that of the slower side.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketBackpressureTests {
    /// The messages, which are more than the largest buffers of the system can hold: 256 MiB, of which those hold less than a quarter.
    private static let count = 1024
    private static let size = 256 << 10

    /// Returns a number that grows once it has not changed for a while.
    private func settled(_ number: () -> Int) async -> Int {
        var (last, unchanged) = (number(), 0)
        while unchanged < 20_000, !Task.isCancelled {
            await Task.yield()
            let now = number()
            unchanged = now == last ? unchanged + 1 : 0
            last = now
        }
        return last
    }

    @Test func aSenderThatOutrunsTheServerIsSuspended() async throws {
        let (mayRead, sent) = (LoopbackServer.Gate(), Locked(0))
        let server = try LoopbackServer.webSocket { peer in
            try peer.connection.wait(for: mayRead)
            _ = try peer.connection.readToEnd()
        }
        let session = Session()
        let socket = try await session.webSocket(server.url(scheme: "ws"))
        let sender = Task {
            let message = Data(count: Self.size)
            while sent.withLock({ $0 }) < Self.count {
                try await socket.send(message)
                sent.withLock { $0 += 1 }
            }
        }
        while sent.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        let before = await settled { sent.withLock { $0 } }
        #expect(before < Self.count / 2)
        // A second message waits for its turn, and can be cancelled.
        let second = Task { try await socket.send("second") }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        mayRead.open()
        while sent.withLock({ $0 }) <= before, !Task.isCancelled { await Task.yield() }
        sender.cancel()
        do { try await sender.value } catch is CancellationError {}
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func theServerOfAReaderThatSleepsIsStopped() async throws {
        let server = try LoopbackServer.webSocket { peer in
            peer.connection.limitSendBuffer(to: 64 << 10)
            let frame = LoopbackServer.WebSocketFrame(0x82, [UInt8](repeating: 7, count: Self.size)).bytes
            for _ in 0..<Self.count { try peer.connection.write(frame) }
        }
        let session = Session()
        let socket = try await session.webSocket(server.url(scheme: "ws"))
        let first = try await socket.receive()
        #expect(first?.data.count == Self.size)
        let before = await settled { server.bytesWritten }
        #expect(before < Self.count * Self.size / 2)
        // The server continues once the messages that it has sent are read.
        while server.bytesWritten <= before {
            let message = try await socket.receive()
            #expect(message?.data == Data(repeating: 7, count: Self.size))
        }
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
