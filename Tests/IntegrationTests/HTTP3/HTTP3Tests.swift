import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Requests work over HTTP/3, if the running libcurl supports HTTP/3.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(
    .timeLimit(.minutes(3)), .serialized, .requiresPeers,
    .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3"))
struct HTTP3Tests {
    private static let started = Peer.started("http3.py")

    private let peer: Peer
    private let session: Session

    init() async throws {
        peer = try await Self.started.value
        session = peer.session { $0.httpVersion = .http3Only }
    }

    @Test(arguments: [2, 1_000_000])
    func download(_ size: Int) async throws {
        let (data, response) = try await session.data(request("/ok/\(size)"))
        #expect(data.count == size)
        #expect(response.version == .http3)
        try await isHealthyAndLeavesNothing()
    }

    @Test func upload() async throws {
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        let (data, _) = try await session.upload(.data(body), to: request("/echo"))
        #expect(data == body)
        try await isHealthyAndLeavesNothing()
    }

    @Test func trailersAndEarlyHintsArrive() async throws {
        let (_, withTrailers) = try await session.data(request("/trailers"))
        #expect(withTrailers.trailers[try #require(HTTPField.Name("x-checksum"))] == "1234")
        let (_, withHints) = try await session.data(request("/hints"))
        #expect(withHints.informational.map(\.status.code) == [103])
        try await isHealthyAndLeavesNothing()
    }

    @Test(
        arguments: ["before-head", "in-body"],
        ["H3_INTERNAL_ERROR", "H3_REQUEST_CANCELLED", "H3_GENERAL_PROTOCOL_ERROR"])
    func resetStream(_ point: String, _ code: String) async throws {
        await expectFailure([.http3]) { try await session.data(request("/rst/\(point)/\(code)")) }
        try await isHealthyAndLeavesNothing()
    }

    @Test func bodyShorterThanItsLength() async throws {
        await expectFailure([.truncatedBody, .http3]) { try await session.data(request("/truncated/end-stream")) }
        try await isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["before-head", "after-head", "in-body"])
    func connectionClosed(_ point: String) async throws {
        await expectFailure([.http3, .receive, .truncatedBody]) { try await session.data(request("/close/\(point)")) }
        try await isHealthyAndLeavesNothing()
    }

    @Test func silenceReachesTheIdleTimeout() async throws {
        let clock = TestClock()
        let session = peer.session(clock: clock) {
            $0.httpVersion = .http3Only
            $0.limits.perOrigin = 1
        }
        _ = try await session.data(request("/ok/2"))
        let silent = try request("/silent").withTimeouts(Timeouts(idle: .seconds(30)))
        async let failure = expectFailure([.idleTimeout]) { try await session.data(silent) }
        while await session.liveRequestCount == 0, !Task.isCancelled { await Task.yield() }
        // This request follows the other one on the same connection.
        _ = try await session.data(request("/ok/2"))
        await session.settle()
        clock.move(by: .seconds(30))
        _ = await failure
        #expect(try await session.data(request("/ok/2")).0.count == 2)
        await session.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    /// A port with a server for TCP, but none for UDP, refuses the connection.
    @Test func refusedConnection() async throws {
        let overTCP = try LoopbackServer { _ in }
        await expectFailure([.connect, .http3]) { try await session.data(overTCP.url(scheme: "https")) }
        try await isHealthyAndLeavesNothing()
    }

    @Test func preferredHTTP3FallsBackWhereThereIsNone() async throws {
        let http2 = try await HTTP2FailureTests.started.value
        let other = http2.session { $0.httpVersion = .http3Preferred }
        let (_, response) = try await other.data(http2.url("tls", "/ok"))
        #expect(response.version == .http2)
        await other.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    @Test func anUntrustedServerGetsNoRequest() async throws {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http3Only
        let other = Session(configuration: configuration)
        let error = await expectFailure([.untrusted]) { try await other.data(request("/ok/2")) }
        #expect(error?.untrusted?.rule == .unknownIssuer && error?.mayHaveSentBytes == false, "\(error as Any)")
        await other.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    @Test func preferredHTTP3IsUsedWhereThereIsOne() async throws {
        var request = Request(try peer.url("h3-alone", "/ok/2"))
        request.httpVersion = .http3Preferred
        let (_, response) = try await session.data(request)
        #expect(response.version == .http3)
        try await isHealthyAndLeavesNothing()
    }

    private func request(_ path: String) throws -> Request { Request(try peer.url("h3", path)) }

    private func isHealthyAndLeavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (data, response) = try await session.data(request("/ok/1000"))
        #expect(data.count == 1000, sourceLocation: sourceLocation)
        #expect(response.version == .http3, sourceLocation: sourceLocation)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}

/// HTTP/3 is an error or is not used if the running libcurl does not support it.
@Suite(.timeLimit(.minutes(3)), .enabled(if: !RunningLibcurl.hasHTTP3, "not for a libcurl with HTTP/3"))
struct HTTP3MissingTests {
    @Test func demandedHTTP3IsUnsupported() async throws {
        let server = try Misbehaviour { _, _ in }
        var request = Request("https://127.0.0.1:\(server.server.port)/")
        request.httpVersion = .http3Only
        await server.fails(with: .unsupported, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func preferredHTTP3IsLeftOut() async throws {
        let server = try Misbehaviour { _, _ in }
        var request = Request(server.server.url("/good"))
        request.httpVersion = .http3Preferred
        let (data, _) = try await server.session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "good")
        try await server.isHealthyAndLeavesNothing()
    }
}
