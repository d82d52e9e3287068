import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Fields behind the body of a request over HTTP/2 (RFC 9113, section 8.1), as a server receives them.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct RequestTrailersOverHTTP2Tests {
    private static let started = Peer.started("http2.py")
    private static let sum = HTTPField.Name("X-Sum") ?? .server

    enum Kind: CaseIterable, Sendable {
        case nothing, bytes, manyBytes, stream, streamWithLength

        var body: RequestBody {
            switch self {
            case .nothing: .data(Data())
            case .bytes: .data(Data("some bytes".utf8))
            case .manyBytes: .data(Data(count: 300_000))
            case .stream: .stream(Self.chunks)
            case .streamWithLength: .stream(Self.chunks, length: 7)
            }
        }

        var count: Int {
            switch self {
            case .nothing: 0
            case .bytes: 10
            case .manyBytes: 300_000
            case .stream, .streamWithLength: 7
            }
        }

        private static var chunks: AsyncStream<Data> {
            AsyncStream { source in
                for text in ["one ", "two"] { source.yield(Data(text.utf8)) }
                source.finish()
            }
        }
    }

    private func post(_ peer: HTTP2Peer, _ body: RequestBody) throws -> Request {
        var request = try peer.request("/parts")
        request.method = .post
        request.body = body
        return request
    }

    @Test(arguments: HTTP2Peer.Way.allCases, Kind.allCases)
    func theyFollowEachKindOfBody(_ way: HTTP2Peer.Way, _ kind: Kind) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let request = try post(peer, kind.body).withTrailers { [Self.sum: "42", .eTag: ""] }
        #expect(try await peer.session.string(request) == "none \(kind.count) x-sum=42 etag=")
        // Without fields, the body has an end all the same.
        let empty = try post(peer, .string("text")).withTrailers { [:] }
        #expect(try await peer.session.string(empty) == "none 4")
        // The next request on the connection has none.
        #expect(try await peer.session.string(post(peer, .string("text"))) == "4 4")
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func aFileHasThemToo() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let path = NSTemporaryDirectory() + "/trellis-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(count: 500_000).write(to: URL(fileURLWithPath: path))
        let request = try post(peer, .file(path)).withTrailers { [Self.sum: "7"] }
        #expect(try await peer.session.string(request) == "none 500000 x-sum=7")
        try await peer.isHealthyAndLeavesNothing()
    }

    /// The server still chooses between the versions over TCP.
    @Test(arguments: [HTTPVersionPolicy.automatic, .http3Preferred])
    func theyDoNotChooseTheVersion(_ policy: HTTPVersionPolicy) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        var request = try post(peer, .string("text")).withTrailers { [Self.sum: "7"] }
        request.httpVersion = policy
        let (data, response) = try await peer.session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "none 4 x-sum=7")
        #expect(response.version == .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    private struct Failure: Error {}

    @Test func anErrorOfTheClosureEndsTheRequest() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let request = try post(peer, .string("text")).withTrailers { throw Failure() }
        let error = await #expect(throws: TrellisError.self) { try await peer.session.data(request) }
        #expect(error?.kind == .other && error?.underlying is Failure)
        try await peer.isHealthyAndLeavesNothing()
    }
}
