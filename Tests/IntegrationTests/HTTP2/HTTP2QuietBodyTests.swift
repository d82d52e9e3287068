import Foundation
import Testing
import Trellis
import TrellisTesting

/// A response over HTTP/2 that ends with END_STREAM, without a reset, while the source of the request's body has no bytes.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2QuietBodyTests {
    private static let started = Peer.started("http2.py")

    /// A response whose end is seen without END_STREAM.
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let length: String
        /// The end of the response: with its bytes or after them.
        let end: String

        var testDescription: String { "\(status) \(length), its end \(end)" }

        static let all = [(200, "with-length"), (413, "with-length"), (413, "without-length")].flatMap { row in
            ["at-once", "own"].map { Case(status: row.0, length: row.1, end: $0) }
        }
    }

    /// A response with a length has ended with its last byte, and a refusal ends the body of the request.
    @Test(arguments: HTTP2Peer.Way.allCases, Case.all)
    func theEndIsSeenByTheLengthOrTheStatus(_ way: HTTP2Peer.Way, _ row: Case) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let source = WatchedSource(.stalled)
        var request = try peer.request("/early-end/\(row.status)/\(row.length)/\(row.end)")
        request.timeouts = Timeouts(idle: .seconds(10))
        let (data, response) = try await peer.session.upload(.stream(source), to: request)
        #expect(response.status.code == row.status && data.count == 2)
        try await source.released.opened()
        try await peer.isHealthyAndLeavesNothing()
    }

    /// The end of a success without a length is not reported by libcurl while the body is paused: the limit on silence ends the request.
    @Test(arguments: HTTP2Peer.Way.allCases, ["at-once", "own"])
    func theEndOfASuccessWithoutALengthIsNotSeen(_ way: HTTP2Peer.Way, _ end: String) async throws {
        let (clock, key) = (TestClock(), UUID().uuidString)
        let peer = try await HTTP2Peer(Self.started, way, clock: clock)
        let source = WatchedSource(.stalled)
        let request = try peer.request("/early-end/200/without-length/\(end)/nothing/\(key)")
            .withTimeouts(Timeouts(idle: .seconds(30)))
        async let failure = expectFailure([.idleTimeout]) {
            try await peer.session.upload(.stream(source), to: request)
        }
        try await peer.waitUntilHandled(key)
        clock.move(by: .seconds(30))
        let error = await failure
        #expect(error?.phase == .receiving)
        try await source.released.opened()
        try await peer.isHealthyAndLeavesNothing()
    }

    /// The bytes of the response are delivered while the body is quiet, and its end when the body has ended. After that the server sends a
    /// PING, because libcurl 7.88.1 sees the end only with further bytes on the connection.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func theEndIsSeenWithThatOfTheRequest(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("start".utf8))
        var request = try peer.request("/early-end/200/without-length/at-once/ping")
        request.method = .post
        request.body = .stream(chunks)
        request.timeouts = Timeouts(idle: .seconds(10))
        let stream = try await peer.session.stream(request)
        var pieces = stream.chunks.makeAsyncIterator()
        var data = Data()
        while data.count < 2, let piece = try await pieces.next() { data += piece }
        #expect(data == Data("xx".utf8))
        source.finish()
        let rest = try await pieces.next()
        #expect(rest == nil)
        let response = try await stream.finalResponse()
        #expect(response.status == .ok && response.version == .http2)
        try await peer.isHealthyAndLeavesNothing()
    }
}
