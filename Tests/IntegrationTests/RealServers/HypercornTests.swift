import Foundation
import HTTPTypes
import Testing
import Trellis

/// Requests whose body is sent while the response is read, over HTTP/2 and HTTP/1.1, against the server of the package hypercorn.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct HypercornTests {
    /// A version of HTTP, with or without TLS.
    enum Way: String, CaseIterable, Sendable {
        case http1, http2, secureHTTP1, secureHTTP2

        var isHTTP2: Bool { self == .http2 || self == .secureHTTP2 }
        var isSecure: Bool { self == .secureHTTP1 || self == .secureHTTP2 }
    }

    private static let started = Peer.started("hypercorn_server.py")

    private let peer: Peer

    init() async throws { peer = try await Self.started.value }

    private func session(_ way: Way) -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.httpVersion = !way.isHTTP2 ? .http1Only : way.isSecure ? .http2 : .http2PriorKnowledge
        return Session(configuration: configuration)
    }

    private func request(_ way: Way, _ path: String, _ chunks: AsyncStream<Data>) throws -> Request {
        let url = try peer.url(way.isSecure ? "tls" : "cleartext", path, scheme: way.isSecure ? "https" : "http")
        // The server sends trailers over HTTP/2 to a client that asks for them.
        let headers: HTTPFields = way.isHTTP2 ? [.te: "trailers"] : [:]
        return Request(url, method: .post, headers: headers, body: .stream(chunks))
    }

    /// Checks the version and the trailers of a complete response.
    private func check(_ response: Response, _ way: Way, parts: Int) {
        #expect(response.status == .ok && response.headers["spoken"] == (way.isHTTP2 ? "2" : "1.1"))
        #expect(response.trailers["parts"] == (way.isHTTP2 ? "\(parts)" : nil))
    }

    @Test(arguments: Way.allCases)
    func eachLineIsEchoedBeforeTheNextIsSent(_ way: Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("line 0\n".utf8))
        let stream = try await session.stream(request(way, "/echo", chunks))
        var lines = stream.lines.makeAsyncIterator()
        for number in 0..<20 {
            if number > 0 { source.yield(Data("line \(number)\n".utf8)) }
            let line = try await lines.next()
            #expect(line == "line \(number)")
        }
        source.finish()
        let last = try await lines.next()
        #expect(last == nil)
        check(try await stream.finalResponse(), way, parts: 20)
        await session.shutdown()
    }

    @Test(arguments: Way.allCases)
    func theResponseContinuesAfterTheEndOfTheRequest(_ way: Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("a question".utf8))
        source.finish()
        let stream = try await session.stream(request(way, "/then/1000", chunks))
        var lines: [String] = []
        for try await line in stream.lines { lines.append(line) }
        #expect(lines == (0..<1000).map { "line \($0)" })
        check(try await stream.finalResponse(), way, parts: 1)
        await session.shutdown()
    }

    /// The client ends its half of a conversation in progress, and the server's half continues.
    @Test(arguments: Way.allCases)
    func theServerContinuesAConversationAfterTheClientsEnd(_ way: Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("question 0\n".utf8))
        let stream = try await session.stream(request(way, "/talk/1000", chunks))
        var lines = stream.lines.makeAsyncIterator()
        for number in 0..<5 {
            if number > 0 { source.yield(Data("question \(number)\n".utf8)) }
            let line = try await lines.next()
            #expect(line == "question \(number)")
        }
        source.finish()
        var rest: [String] = []
        while let line = try await lines.next() { rest.append(line) }
        #expect(rest == (0..<1000).map { "line \($0)" })
        check(try await stream.finalResponse(), way, parts: 5)
        await session.shutdown()
    }

    @Test(arguments: Way.allCases)
    func webSockets(_ way: Way) async throws {
        let session = session(way)
        let url = try peer.url(way.isSecure ? "tls" : "cleartext", "/", scheme: way.isSecure ? "wss" : "ws")
        let policy: HTTPVersionPolicy? = !way.isHTTP2 ? nil : way.isSecure ? .http2 : .http2PriorKnowledge
        let request = Request(url).withHTTPVersion(policy)
        let socket = try await session.webSocket(request)
        #expect(try await socket.receive() == .text(way.isHTTP2 ? "2" : "1.1"))
        #expect(socket.extensions.contains("permessage-deflate"))
        for size in [0, 5, 1_024, 65_536, 1 << 20] {
            let message = WebSocketMessage.binary(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 8) }))
            try await socket.send(message)
            #expect(try await socket.receive() == message)
        }
        try await socket.ping()
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
        await session.shutdown()
    }

    /// The body's source has no more chunks, and has not ended either. Over HTTP/2, this server does not reset the stream.
    @Test(arguments: [Way.http1, .secureHTTP1])
    func theResponseEndsBeforeTheRequest(_ way: Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("a question".utf8))
        let stream = try await session.stream(request(way, "/early", chunks))
        var body = Data()
        for try await chunk in stream.chunks { body += chunk }
        #expect(String(decoding: body, as: UTF8.self) == "enough")
        check(try await stream.finalResponse(), way, parts: 1)
        source.finish()
        await session.shutdown()
    }
}
