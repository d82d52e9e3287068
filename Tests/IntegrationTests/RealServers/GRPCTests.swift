import Foundation
import HTTPTypes
import Testing
import Trellis

/// Calls of gRPC, made by hand over streams, against the server of the package grpcio.
@Suite(.timeLimit(.minutes(1)), .requiresPeers)
struct GRPCTests {
    private static let started = Peer.started("grpc_server.py")

    private let peer: Peer

    init() async throws { peer = try await Self.started.value }

    private func session(_ way: HTTP2Peer.Way) -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.httpVersion = way == .tls ? .automatic : .http2PriorKnowledge
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
}
