import Foundation
import Testing
import Trellis
import TrellisTesting

/// An HTTP/2 server that resets a stream, goes away, cuts a body short or violates the protocol causes an error, or a harmless repetition.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2FailureTests {
    static let started = Peer.started("http2.py")

    /// The codes of RFC 9113, section 7, that finally end a stream.
    static let codes = [
        "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
    ]

    @Test(arguments: codes, ["before-head", "after-head", "in-body"])
    func resetStream(_ code: String, _ point: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let error = await peer.fails("/rst/\(point)/\(code)", with: .http2)
        #expect(error?.description.contains(code) == true, "\(error?.description ?? "")")
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: codes.prefix(2), ["before-head", "in-body"])
    func resetStreamInCleartext(_ code: String, _ point: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .cleartext)
        await peer.fails("/rst/\(point)/\(code)", with: .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, ["before-head", "after-head", "in-body"])
    func resetWithoutAnError(_ way: HTTP2Peer.Way, _ point: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        await peer.fails("/rst/\(point)/NO_ERROR", with: .http2, .truncatedBody, .receive)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A refused stream is repeated with any method, because the server reports that it did nothing.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func refusedStreamSucceedsOnTheNextAttempt(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let (_, response) = try await peer.session.data(peer.request("/refused-once/\(UUID())"))
        #expect(response.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func streamRefusedForEverIsAnError() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        // The engine itself repeats such a stream, and gives up at last.
        let error = await peer.fails("/rst/before-head/REFUSED_STREAM", with: .http2, .receive)
        #expect(error?.isRetryable == true)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A code that requests another attempt is too late during a body, because the rest would be joined to another response.
    @Test(arguments: ["REFUSED_STREAM", "HTTP_1_1_REQUIRED"])
    func codeThatAsksForAnotherAttemptInTheBody(_ code: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        await peer.fails("/rst/in-body/\(code)", with: .http2, .malformedResponse, .truncatedBody)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// The code leads to a response over HTTP/1.1 if it arrives before the head, and to an error of HTTP/2 otherwise.
    @Test func http11Required() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        do {
            let request = try peer.request("/rst/before-head/HTTP_1_1_REQUIRED").withHTTPVersion(.automatic)
            let (data, response) = try await peer.session.data(request)
            #expect(String(decoding: data, as: UTF8.self) == "over HTTP/1")
            #expect(response.version == .http1_1)
        } catch let error as TrellisError {
            #expect(error.kind == .http2)
        }
        await peer.session.shutdown()
        try await peer.peer.waitUntilAllClosed()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, ["after", "body"])
    func goAwayThatCoversTheStream(_ way: HTTP2Peer.Way, _ point: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let (data, response) = try await peer.session.data(peer.request("/goaway/\(point)"))
        #expect(response.status == .ok)
        #expect(data.count == (point == "after" ? 2 : 100))
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A stream that was never begun is repeated, or fails with a retryable error.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func goAwayBeforeTheStream(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        do {
            let (_, response) = try await peer.session.data(peer.request("/goaway/before/\(UUID())"))
            #expect(response.status == .ok)
        } catch let error as TrellisError {
            #expect([.http2, .receive].contains(error.kind))
            #expect(error.isRetryable)
        }
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["INTERNAL_ERROR", "ENHANCE_YOUR_CALM", "PROTOCOL_ERROR"])
    func goAwayWithAnError(_ code: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        await peer.fails("/goaway-error/\(code)", with: .http2, .receive)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(
        arguments: HTTP2Peer.Way.allCases,
        [
            "/truncated/rst", "/truncated/close", "/truncated/close/without-length", "/goaway/cut",
        ])
    func truncatedBodyIsReportedAsTruncated(_ way: HTTP2Peer.Way, _ path: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let others: [TrellisError.Kind] = path == "/truncated/rst" ? [.receive, .http2] : []
        await expectFailure([.truncatedBody] + others) { try await peer.session.data(peer.request(path)) }
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A body that ends before its content-length is an error, or a violation of the protocol (RFC 9113, section 8.1.1).
    @Test(arguments: HTTP2Peer.Way.allCases)
    func bodyShorterThanItsLengthIsAnError(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        await peer.fails("/truncated/end-stream", with: .truncatedBody, .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A field with a line end is dropped or refused, but never treated as two fields.
    @Test func lineEndInAFieldIsNoField() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        do {
            let (_, response) = try await peer.session.data(peer.request("/field/newline"))
            #expect(response.headers.isEmpty)
        } catch let error as TrellisError {
            #expect([.malformedResponse, .http2].contains(error.kind))
        }
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [
        "/overlong", "/field/uppercase", "/field/connection", "/field/pseudo", "/field/huge",
        "/status/99",
        "/status/abc", "/hints/10000",
    ])
    func brokenAnswerIsRefused(_ path: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        await peer.fails(path, with: .malformedResponse, .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// Bytes that are not frames are refused.
    @Test func bytesThatAreNoFramesAreRefused() async throws {
        let (clock, key) = (TestClock(), UUID().uuidString)
        let peer = try await HTTP2Peer(Self.started, .tls, clock: clock)
        let request = try peer.request("/garbage/\(key)").withTimeouts(Timeouts(idle: .seconds(30)))
        let kinds: [TrellisError.Kind] = [.malformedResponse, .http2, .receive, .idleTimeout]
        async let failure = expectFailure(kinds) { try await peer.session.data(request) }
        try await peer.waitUntilHandled(key)
        clock.move(by: .seconds(30))
        _ = await failure
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["before-head", "after-head", "in-body"])
    func silenceReachesTheIdleTimeout(_ point: String) async throws {
        let (clock, key) = (TestClock(), UUID().uuidString)
        let peer = try await HTTP2Peer(Self.started, .tls, clock: clock)
        let request = try peer.request("/silent/\(point)/\(key)").withTimeouts(Timeouts(idle: .seconds(30)))
        async let failure = expectFailure([.idleTimeout]) { try await peer.session.data(request) }
        try await peer.waitUntilHandled(key)
        clock.move(by: .seconds(30))
        _ = await failure
        try await peer.isHealthyAndLeavesNothing()
    }
}
