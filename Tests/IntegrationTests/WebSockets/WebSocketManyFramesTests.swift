import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// A server that sends very many small frames at once, over a real socket.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketManyFramesTests {
    private static let count = 40_000

    private static func number(_ number: Int) -> [UInt8] {
        [UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    /// RFC 6455, section 5.5.3: the answer to the most recent ping is enough.
    @Test func ofAFloodOfPingsAFewAndTheLastAreAnswered() async throws {
        let answers = Locked<[[UInt8]]>([])
        let server = try LoopbackServer.webSocket { peer in
            var flood: [UInt8] = []
            for number in 0..<Self.count { flood += LoopbackServer.WebSocketFrame(0x89, Self.number(number)).bytes }
            try peer.connection.write(flood)
            try peer.send("end")
            // The answers come before the client's message.
            var frame = try peer.receiveFrame()
            while frame.first == 0x8A {
                answers.withLock { $0.append(frame.payload) }
                frame = try peer.receiveFrame()
            }
        }
        let session = Session()
        let socket = try await session.webSocket(server.url(scheme: "ws"))
        #expect(try await socket.receive() == .text("end"))
        try await socket.send("done")
        #expect(try await socket.receive() == nil)
        let payloads = answers.withLock { $0 }
        #expect(payloads.first == Self.number(0))
        #expect(payloads.last == Self.number(Self.count - 1))
        #expect(payloads.count < Self.count / 4)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// A message may have any number of frames without content. They are read in parts, and another request gets its response meanwhile.
    @Test func aMessageOfManyEmptyFramesArrives() async throws {
        let server = try LoopbackServer { connection in
            while let request = try connection.readHead() {
                guard request["Upgrade"] != nil else {
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")
                    continue
                }
                let peer = try connection.acceptWebSocket(request)
                var frames = LoopbackServer.WebSocketFrame(0x01, Array("be".utf8)).bytes
                for _ in 0..<Self.count { frames += [0x00, 0x00] }
                try connection.write(frames + LoopbackServer.WebSocketFrame(0x80, Array("gin".utf8)).bytes)
                return try peer.close()
            }
        }
        let session = Session()
        let socket = try await session.webSocket(server.url(scheme: "ws"))
        async let other = session.string(server.url())
        #expect(try await socket.receive() == .text("begin"))
        let text = try await other
        #expect(text == "other")
        #expect(try await socket.receive() == nil)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
