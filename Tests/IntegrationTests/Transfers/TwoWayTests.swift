import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// A body is sent while its response is read, in lock-step: each line is sent after the reply to the one before.
@Suite(.timeLimit(.minutes(3)))
struct TwoWayTests {
    /// Sends lines one by one, and returns the rest of the body after their end, with the whole response.
    private func converse(_ session: Session, _ request: Request, lines: Int = 50) async throws -> (String, Response) {
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        var request = request
        request.method = .post
        request.body = .stream(chunks)
        source.yield(Data("0\n".utf8))
        let stream = try await session.stream(request)
        var replies = stream.chunks.makeAsyncIterator()
        var buffer = Data()
        for number in 0..<lines {
            let line = Data("\(number)\n".utf8)
            if number > 0 { source.yield(line) }
            while buffer.count < line.count, let chunk = try await replies.next() { buffer += chunk }
            #expect(buffer == line)
            buffer = Data()
        }
        source.finish()
        while let chunk = try await replies.next() { buffer += chunk }
        return (String(decoding: buffer, as: UTF8.self), try await stream.finalResponse())
    }

    /// Returns the number of bytes that the server has counted, from the response's trailers.
    private func count(_ response: Response) -> String? {
        HTTPField.Name("X-Count").flatMap { response.trailers[$0] }
    }

    @Test func linesPassInLockStepOverHTTP1() async throws {
        let server = try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            #expect(request["Transfer-Encoding"] == "chunked")
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Count\r\n\r\n")
            var count = 0
            while let chunk = try Self.readChunk(connection) {
                count += chunk.count
                try connection.write(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8))
            }
            try connection.write("3\r\nbye\r\n0\r\nX-Count: \(count)\r\n\r\n")
        }
        let session = Session()
        let (rest, response) = try await converse(session, Request(server.url()))
        #expect(rest == "bye" && count(response) == "140")
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    /// Returns the next chunk of a chunked body; `nil` for the last one, which is empty.
    private static func readChunk(_ connection: LoopbackServer.Connection) throws -> [UInt8]? {
        var line: [UInt8] = []
        while line.suffix(2) != [13, 10] { line += try connection.read(exactly: 1) }
        let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) ?? 0
        let chunk = try connection.read(exactly: size + 2).dropLast(2)
        return size == 0 ? nil : Array(chunk)
    }

    private static let http2 = Peer.started("http2.py")

    @Test(.requiresPeers, arguments: HTTP2Peer.Way.allCases)
    func linesPassInLockStepOverHTTP2(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.http2, way)
        let (rest, response) = try await converse(peer.session, peer.request("/lockstep"))
        #expect(rest == "bye" && count(response) == "140" && response.version == .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A request whose response is not read any more asks for no more of its body.
    @Test(.requiresPeers, arguments: HTTP2Peer.Way.allCases)
    func aConversationThatIsDroppedEnds(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.http2, way)
        for _ in 0..<10 {
            let (chunks, source) = AsyncStream.makeStream(of: Data.self)
            let (end, hasEnded) = AsyncStream.makeStream(of: Void.self)
            source.onTermination = { _ in hasEnded.finish() }
            source.yield(Data("hello".utf8))
            var request = try peer.request("/lockstep")
            request.method = .post
            request.body = .stream(chunks)
            try await peer.session.withResponse(to: request) { _, body in
                var iterator = body.makeAsyncIterator()
                let reply = try await iterator.next()
                #expect(reply == Data("hello".utf8))
            }
            for await _ in end {}
        }
        try await peer.isHealthyAndLeavesNothing()
    }
}
