import Foundation
import HTTPTypes
import Testing
import Trellis

/// Calls of gRPC, made by hand over streams, against the server of the package grpcio.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct GRPCTests {
    private static let started = Peer.started("grpc_server.py")

    private let peer: Peer

    init() async throws { peer = try await Self.started.value }

    private func session(_ way: HTTP2Peer.Way) -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.httpVersion = way == .tls ? .http2 : .http2PriorKnowledge
        return Session(configuration: configuration)
    }

    private func request(_ way: HTTP2Peer.Way, _ method: String, _ body: RequestBody) throws -> Request {
        let url = try peer.url(way.rawValue, "/test.Echo/\(method)", scheme: way == .tls ? "https" : "http")
        return Request(
            url, method: .post, headers: [.contentType: "application/grpc", .te: "trailers"], body: body)
    }

    /// Returns a message with its prefix: a byte for no compression, and the length.
    private func framed(_ message: Data) -> Data {
        Data([0] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: message.count >> (8 * $0)) }) + message
    }

    /// Returns a field of the trailers, or of the head if there is no body.
    private func field(_ name: String, _ response: Response) -> String? {
        HTTPField.Name(name).flatMap { response.trailers[$0] ?? response.headers[$0] }
    }

    @Test(arguments: HTTP2Peer.Way.allCases)
    func aUnaryCall(_ way: HTTP2Peer.Way) async throws {
        let session = session(way)
        let message = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let (data, response) = try await session.data(request(way, "Unary", .data(framed(message))))
        #expect(data == framed(message) && field("grpc-status", response) == "0")
        // The error comes with the head, without a body: its fields are those of the head.
        let (none, refusal) = try await session.data(request(way, "Unary", .data(framed(Data("fail".utf8)))))
        #expect(none.isEmpty && field("grpc-status", refusal) == "5")
        #expect(field("grpc-message", refusal) == "nothing here")
        await session.shutdown()
    }

    @Test(arguments: HTTP2Peer.Way.allCases)
    func aCallInBothDirections(_ way: HTTP2Peer.Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(framed(Data("message 0".utf8)))
        let stream = try await session.stream(request(way, "Both", .stream(chunks)))
        #expect(stream.response.status == .ok)
        var (iterator, buffer) = (stream.chunks.makeAsyncIterator(), Data())
        for number in 0..<20 {
            let message = framed(Data("message \(number)".utf8))
            if number > 0 { source.yield(message) }
            while buffer.count < message.count, let chunk = try await iterator.next() { buffer += chunk }
            #expect(buffer == message)
            buffer = Data()
        }
        source.finish()
        #expect(try await iterator.next() == nil)
        #expect(field("grpc-status", try await stream.finalResponse()) == "0")
        await session.shutdown()
    }

    /// The server responds to the message before the end of the request.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func aUnaryCallOverAStream(_ way: HTTP2Peer.Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        let message = framed(Data("a question".utf8))
        for byte in message { source.yield(Data([byte])) }
        source.finish()
        let stream = try await session.stream(request(way, "Unary", .stream(chunks)))
        var body = Data()
        for try await chunk in stream.chunks { body += chunk }
        #expect(body == message)
        #expect(field("grpc-status", try await stream.finalResponse()) == "0")
        let refused = try await session.stream(request(way, "Unary", .data(framed(Data("fail".utf8)))))
        var count = 0
        for try await chunk in refused.chunks { count += chunk.count }
        #expect(count == 0)
        #expect(field("grpc-status", try await refused.finalResponse()) == "5")
        await session.shutdown()
    }

    /// The client ends its half of a conversation in progress, and the server's half continues.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func theServerContinuesAfterTheClientsEnd(_ way: HTTP2Peer.Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(framed(Data("hello".utf8)))
        let stream = try await session.stream(request(way, "Count", .stream(chunks)))
        var (iterator, body) = (stream.chunks.makeAsyncIterator(), Data())
        while body.count < 10, let chunk = try await iterator.next() { body += chunk }
        #expect(body == framed(Data("hello".utf8)))
        source.finish()
        body = Data()
        while let chunk = try await iterator.next() { body += chunk }
        let numbers = (0..<100).map { framed(Data("\($0)".utf8)) }.joined()
        #expect(body == Data(numbers))
        #expect(field("grpc-status", try await stream.finalResponse()) == "0")
        await session.shutdown()
    }

    /// The server ends a conversation in progress, and resets the stream, while the client has more messages.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func theServerEndsBeforeTheClient(_ way: HTTP2Peer.Way) async throws {
        let session = session(way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self, bufferingPolicy: .bufferingOldest(16))
        source.yield(framed(Data("hello".utf8)))
        let stream = try await session.stream(request(way, "First", .stream(chunks)))
        var (iterator, body) = (stream.chunks.makeAsyncIterator(), Data())
        while body.count < 10, let chunk = try await iterator.next() { body += chunk }
        #expect(body == framed(Data("hello".utf8)))
        let more = framed(Data("more".utf8))
        let feeder = Task {
            while !Task.isCancelled {
                source.yield(more)
                await Task.yield()
            }
        }
        let last = try await iterator.next()
        #expect(last == nil)
        #expect(field("grpc-status", try await stream.finalResponse()) == "0")
        feeder.cancel()
        source.finish()
        await session.shutdown()
    }
}
