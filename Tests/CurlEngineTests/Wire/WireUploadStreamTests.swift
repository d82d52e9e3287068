import CCurl
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// Bodies of requests on the engine's HTTP/2 connections.
@Suite(.timeLimit(.minutes(3)), .enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct WireUploadStreamTests {
    private func options(_ server: LoopbackServer, _ body: TransferOptions.Body) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: server.url("/")), method: "POST", body: body, version: .http2PriorKnowledge)
    }

    private static let ping: UInt8 = 6

    /// Reads frames until a stream has brought a number of bytes of content. Returns the content.
    private static func readBody(_ count: Int, of stream: UInt32, _ peer: RawHTTP2) throws -> [UInt8] {
        var body: [UInt8] = []
        while body.count < count {
            let head = try peer.connection.read(exactly: 9)
            let payload = try peer.connection.read(exactly: Int(head[1]) << 8 | Int(head[2]))
            if head[3] == RawHTTP2.data { body += payload }
        }
        return body
    }

    private static func answer(_ stream: UInt32) -> [UInt8] {
        RawHTTP2.frame(
            RawHTTP2.headers, RawHTTP2.endHeaders | RawHTTP2.endStream, stream: stream, RawHTTP2.statusOK)
    }

    /// Enlarges the windows of the connection and a stream.
    private static func windows(_ stream: UInt32, _ size: UInt32) -> [UInt8] {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) }
        return RawHTTP2.frame(8, 0, stream: 0, bytes) + RawHTTP2.frame(8, 0, stream: stream, bytes)
    }

    /// The limit on idle time begins anew with each part of a body, also of one in memory.
    @Test func eachPartOfABodyInMemoryIsActivity() async throws {
        let (hasBegun, mayGoOn, mayAnswer) = (LoopbackServer.Gate(), LoopbackServer.Gate(), LoopbackServer.Gate())
        let server = try LoopbackServer { connection in
            let peer = RawHTTP2(connection: connection)
            let stream = try peer.readRequest()
            _ = try Self.readBody(65_535, of: stream, peer)
            hasBegun.open()
            try connection.wait(for: mayGoOn)
            try connection.write(Self.windows(stream, 100_000))
            _ = try Self.readBody(100_000 - 65_535, of: stream, peer)
            try connection.wait(for: mayAnswer)
            try connection.write(Self.answer(stream))
            _ = try connection.readToEnd()
        }
        let (run, outcome) = (EngineRun(), EngineRun.Outcome())
        let options = try options(server, .bytes([UInt8](repeating: 1, count: 100_000)))
        await run.onEngine { run.start(options, outcome) }
        try await hasBegun.opened()
        // The instants are those of turns of the loop. The rest is sent in a later one.
        let first = try #require(await run.onEngine { outcome.transfer?.times.lastSend })
        mayGoOn.open()
        while await run.onEngine({ outcome.transfer?.times.lastSend }) == first, !Task.isCancelled {
            await Task.yield()
        }
        mayAnswer.open()
        while await run.onEngine({ outcome.end == nil }), !Task.isCancelled { await Task.yield() }
        #expect(outcome.head?.status == 200 && outcome.end?.failure == nil)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// While a transfer is suspended, its body is not sent, although it is in memory and the windows are open.
    @Test func aSuspendedBodyInMemoryIsNotSent() async throws {
        let (hasBegun, isSuspended, hasAsked) = (LoopbackServer.Gate(), LoopbackServer.Gate(), LoopbackServer.Gate())
        let received = Locked(0)
        let server = try LoopbackServer { connection in
            let peer = RawHTTP2(connection: connection)
            let stream = try peer.readRequest()
            _ = try Self.readBody(65_535, of: stream, peer)
            hasBegun.open()
            try connection.wait(for: isSuspended)
            try connection.write(Self.windows(stream, 100_000))
            // An answer leaves before content, which would then be before the second answer.
            for _ in 0..<2 {
                try connection.write(RawHTTP2.frame(Self.ping, 0, stream: 0, [UInt8](repeating: 0, count: 8)))
                var kind: UInt8
                repeat {
                    let head = try connection.read(exactly: 9)
                    _ = try connection.read(exactly: Int(head[1]) << 8 | Int(head[2]))
                    kind = head[3]
                    if kind == RawHTTP2.data { received.withLock { $0 += 1 } }
                } while kind != Self.ping
            }
            hasAsked.open()
            _ = try Self.readBody(100_000 - 65_535, of: stream, peer)
            try connection.write(Self.answer(stream))
            _ = try connection.readToEnd()
        }
        let (run, outcome) = (EngineRun(), EngineRun.Outcome())
        let options = try options(server, .bytes([UInt8](repeating: 1, count: 100_000)))
        await run.onEngine { run.start(options, outcome) }
        try await hasBegun.opened()
        await run.onEngine { outcome.transfer?.suspend(true) }
        while await run.onEngine({ outcome.transfer?.wire.stream?.isBodyHeldBack == false }), !Task.isCancelled {
            await Task.yield()
        }
        isSuspended.open()
        try await hasAsked.opened()
        #expect(received.withLock { $0 } == 0)
        await run.onEngine { outcome.transfer?.suspend(false) }
        while await run.onEngine({ outcome.end == nil }), !Task.isCancelled { await Task.yield() }
        #expect(outcome.head?.status == 200 && outcome.end?.failure == nil)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// What the system takes of a large body, while it cannot send, is in front of every further request.
    @Test func theSystemTakesLittleThatItCannotSend() async throws {
        let mayRead = LoopbackServer.Gate()
        let size = 16 << 20
        let server = try LoopbackServer { connection in
            let peer = RawHTTP2(connection: connection)
            let stream = try peer.readRequest()
            try connection.write(Self.windows(stream, UInt32(size)))
            try connection.wait(for: mayRead)
            _ = try Self.readBody(size, of: stream, peer)
            try connection.write(Self.answer(stream))
            _ = try connection.readToEnd()
        }
        let (run, outcome) = (EngineRun(), EngineRun.Outcome())
        let options = try options(server, .bytes([UInt8](repeating: 1, count: size)))
        await run.onEngine { run.start(options, outcome) }
        func isFull() async -> Bool {
            await run.onEngine { outcome.transfer?.wire.http2.map { $0.interest.contains(.write) } ?? false }
        }
        // The windows are open once more than the first ones were sent.
        func sent() async -> Int64 {
            await run.onEngine { outcome.transfer?.wire.http2.map { ccurl_socket_written($0.socket) } ?? 0 }
        }
        while await sent() < 100_000, !Task.isCancelled { await Task.yield() }
        while await !isFull(), !Task.isCancelled { await Task.yield() }
        #expect(await sent() < 1 << 20)
        mayRead.open()
        while await run.onEngine({ outcome.end == nil }), !Task.isCancelled { await Task.yield() }
        #expect(outcome.head?.status == 200 && outcome.end?.failure == nil)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// A server that takes a large body in small steps gets all of it, in order, whatever the socket has room for.
    @Test(arguments: [true, false]) func aBodyForASlowServerArrives(_ isInMemory: Bool) async throws {
        let size = 3_000_000
        let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let server = try LoopbackServer { connection in
            let peer = RawHTTP2(connection: connection)
            let stream = try peer.readRequest()
            try connection.write(Self.windows(stream, UInt32(size)))
            guard try Self.readBody(size, of: stream, peer) == content else { return connection.reset() }
            try connection.write(Self.answer(stream))
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        let options = try options(server, isInMemory ? .bytes(content) : .stream(length: Int64(size)))
        let outcome = await run.perform(options, sending: Data(content))
        #expect(outcome.head?.status == 200 && outcome.end?.failure == nil)
        #expect(outcome.end?.report.bytesSent ?? 0 > Int64(size))
        await run.finish()
        try await server.waitUntilAllClosed()
    }
}
