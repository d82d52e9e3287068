import Foundation
import Testing
import Trellis
import TrellisTesting

/// A response over HTTP/2 that ends with END_STREAM, without a reset, while the source of the request's body has no bytes. It is complete
/// (RFC 9113, section 8.1), and ends the request.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2QuietBodyTests {
    private static let started = Peer.started("http2.py")

    /// A response with two bytes. 303 without a `Location` is a response like any other.
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let length: String
        /// The end of the response: with its bytes or after them.
        let end: String

        var testDescription: String { "\(status) \(length), its end \(end)" }

        static let all = [200, 303, 413].flatMap { status in
            ["with-length", "without-length"].flatMap { length in
                ["at-once", "own"].map { Case(status: status, length: length, end: $0) }
            }
        }
    }

    @Test(arguments: HTTP2Peer.Way.allCases, Case.all)
    func theEndOfTheResponseEndsTheRequest(_ way: HTTP2Peer.Way, _ row: Case) async throws {
        let peer = try await HTTP2Peer(Self.started, way, clock: TestClock())
        let source = WatchedSource(.stalled)
        let request = try peer.request("/early-end/\(row.status)/\(row.length)/\(row.end)")
        let (data, response) = try await peer.session.upload(.stream(source), to: request)
        #expect(response.status.code == row.status && data.count == 2)
        try await source.released.opened()
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, ["at-once", "own"])
    func theReaderOfAStreamGetsTheEnd(_ way: HTTP2Peer.Way, _ end: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way, clock: TestClock())
        let source = WatchedSource(.stalled)
        var request = try peer.request("/early-end/200/without-length/\(end)")
        request.method = .post
        request.body = .stream(source)
        let stream = try await peer.session.stream(request)
        #expect(try await stream.chunks.collect(upTo: 100) == Data("xx".utf8))
        let response = try await stream.finalResponse()
        #expect(response.status == .ok && response.version == .http2)
        try await source.released.opened()
        try await peer.isHealthyAndLeavesNothing()
    }
}
