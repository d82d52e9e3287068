import Foundation
import Testing
import Trellis

/// What an HTTP/2 server may do to a stream: reset it, go away, cut its body short, break the protocol.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(1)), .serialized, .requiresPeers)
struct HTTP2FailureTests {
    static let started = Peer.started("http2.py")

    /// All codes of RFC 9113, section 7, that end a stream for good.
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

    /// The server says that it did nothing, so the request may go again, whatever its method.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func refusedStreamSucceedsOnTheNextAttempt(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let (_, response) = try await peer.session.data(peer.request("/refused-once/\(UUID())"))
        #expect(response.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func streamRefusedForEverIsAnError() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        // libcurl tries such a stream again by itself, and in the end only says that the connection died.
        let error = await peer.fails("/rst/before-head/REFUSED_STREAM", with: .http2, .receive)
        #expect(error?.isRetryable == true)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// In a body it is too late for that: the rest would be joined to another answer.
    @Test(arguments: ["REFUSED_STREAM", "HTTP_1_1_REQUIRED"])
    func codeThatAsksForAnotherAttemptInTheBody(_ code: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        await peer.fails("/rst/in-body/\(code)", with: .http2, .malformedResponse, .truncatedBody)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// Before the head it is an answer to fall back on HTTP/1.1, or an error that says so.
    @Test func http11Required() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        do {
            let (data, response) = try await peer.session.data(peer.request("/rst/before-head/HTTP_1_1_REQUIRED"))
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

    /// The stream was never begun: it goes again by itself, or fails as one that may.
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
        // Of a head and a reset that come in one read, libcurl 7.88 may hand on neither.
        let others: [TrellisError.Kind] = path == "/truncated/rst" ? [.receive, .http2] : []
        await expectFailure([.truncatedBody] + others) { try await peer.session.data(peer.request(path)) }
        try await peer.isHealthyAndLeavesNothing()
    }

    /// Of a body that ends before its content-length libcurl says only that it broke the protocol (RFC 9113, section
    /// 8.1.1), as it says of a stream that the server reset with that code.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func bodyShorterThanItsLengthIsAnError(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        await peer.fails("/truncated/end-stream", with: .truncatedBody, .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// Dropped or refused, but never taken for two fields.
    @Test func lineEndInAFieldIsNoField() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        do {
            let (_, response) = try await peer.session.data(peer.request("/field/newline"))
            #expect(response.headerFields.isEmpty)
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

    /// The connection may go before libcurl says what was wrong; newer versions say GOAWAY and wait for the server's end.
    @Test func bytesThatAreNoFramesAreRefused() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        var request = try peer.request("/garbage")
        request.timeouts = .impatient
        let kinds: [TrellisError.Kind] = [.malformedResponse, .http2, .receive, .idleTimeout]
        await expectFailure(kinds) { try await peer.session.data(request) }
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["before-head", "after-head", "in-body"])
    func silenceReachesTheIdleTimeout(_ point: String) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        var request = try peer.request("/silent/\(point)")
        request.timeouts = .impatient
        await expectFailure([.idleTimeout]) { try await peer.session.data(request) }
        try await peer.isHealthyAndLeavesNothing()
    }
}
