import Foundation
import HTTPTypes
import Testing
import Trellis

/// Uploads, downloads, trailers and many requests at once work over HTTP/2.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2Tests {
    private static let started = Peer.started("http2.py")

    @Test(arguments: HTTP2Peer.Way.allCases)
    func uploadAndDownload(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let body = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
        let (data, _) = try await peer.session.upload(.data(body), to: peer.request("/echo"))
        #expect(data == body)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases)
    func manyRequestsAtOnce(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let request = try peer.request("/together/\(UUID())/50")
        // The server responds when all requests have arrived.
        let responses = try await withThrowingTaskGroup(of: Response.self) { group in
            for _ in 0..<50 { group.addTask { try await peer.session.data(request).1 } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.status == .ok })
        // A burst opens one connection.
        #expect(responses.count { !$0.metrics.isReusedConnection } == 1)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, ["without-length", "with-length"])
    func trailersArrive(_ way: HTTP2Peer.Way, _ length: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let (data, response) = try await peer.session.data(peer.request("/trailers/\(length)"))
        #expect(data.count == 50)
        let name = try #require(HTTPField.Name("x-checksum"))
        #expect(response.trailers[name] == "1234")
        #expect(response.headers[name] == nil)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func earlyHintsArrive() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let (_, response) = try await peer.session.data(peer.request("/hints/2"))
        #expect(response.informational.map(\.status.code) == [103, 103])
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A response before the end of the upload is accepted, regardless of the rest of the upload (RFC 9113, section 8.1).
    @Test(arguments: [200, 413])
    func answerBeforeTheUploadEnds(_ status: Int) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let (data, response) = try await peer.session.upload(
            .stream(BodySource.stalled(after: "start")), to: peer.request("/early/\(status)"))
        #expect(response.status.code == status)
        #expect(data.count == 2)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func cancelledStreamLeavesTheOthersAlone() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let stream = try await peer.session.stream(peer.request("/silent/in-body"))
        stream.cancel()
        try await peer.isHealthyAndLeavesNothing()
    }

    /// The server learns of a cancellation at once, not with the next request on the connection.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func cancelledStreamIsResetAtOnce(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let key = UUID().uuidString
        let stream = try await peer.session.stream(peer.request("/until-left/\(key)"))
        stream.cancel()
        let other = try peer.peer.url(
            "other-\(way.rawValue)", "/left/\(key)", scheme: way == .tls ? "https" : "http")
        #expect(try await peer.session.data(other).0.count == 2)
        try await peer.isHealthyAndLeavesNothing()
    }
}
