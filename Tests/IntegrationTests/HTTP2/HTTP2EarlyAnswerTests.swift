import Foundation
import Testing
import Trellis
import TrellisTesting

/// A response over HTTP/2 that arrives before the body of the request is sent is delivered, although the server then refuses the rest of
/// the body (RFC 9113, section 8.1).
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2EarlyAnswerTests {
    private static let started = Peer.started("http2.py")

    /// A row of the test: a response, a source of the request's body, and a way to HTTP/2.
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let rest: WatchedSource.Rest
        let way: HTTP2Peer.Way
        /// The length of the response: announced or not.
        let length: String
        /// The end of the response: with its bytes or after them.
        let end: String

        var path: String { "/early-end/\(status)/\(length)/\(end)/reset" }
        var testDescription: String { "\(status) \(length), its end \(end), to a source that is \(rest), over \(way)" }

        static let all = [200, 413].flatMap { status in
            WatchedSource.Rest.allCases.flatMap { rest in
                HTTP2Peer.Way.allCases.flatMap { way in
                    ["with-length", "without-length"].flatMap { length in
                        ["at-once", "own"].map {
                            Case(status: status, rest: rest, way: way, length: length, end: $0)
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: HTTP2Peer.Way.allCases)
    func theBodyFollowsThe100(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let body = Data(repeating: 7, count: 300_000)
        let request = try peer.request("/continued").withContinueExpectation(waiting: .seconds(3600))
        let (data, response) = try await peer.session.upload(.data(body), to: request)
        #expect(data == body)
        #expect(response.informational.map(\.status.code) == [100])
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, [200, 401, 413])
    func anAnswerInItsPlaceLeavesTheBodyUnread(_ way: HTTP2Peer.Way, _ status: Int) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let source = WatchedSource(.stalled)
        let request = try peer.request("/continued/\(status)").withContinueExpectation(waiting: .seconds(3600))
        let (data, response) = try await peer.session.upload(.stream(source), to: request)
        #expect(response.status.code == status)
        #expect(data.count == 2)
        #expect(!source.begun.isOpen)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: Case.all)
    func theAnswerIsTheAnswer(_ row: Case) async throws {
        let peer = try await HTTP2Peer(Self.started, row.way)
        let source = WatchedSource(row.rest)
        let (data, response) = try await peer.session.upload(.stream(source), to: peer.request(row.path))
        #expect(response.status.code == row.status)
        #expect(data.count == 2)
        try await source.released.opened()
        try await peer.isHealthyAndLeavesNothing()
    }
}
