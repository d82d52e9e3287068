import Foundation
import Testing
import Trellis

/// Requests that an HTTP/2 server reports as not processed (RFC 9113, sections 6.8 and 8.7) are repeated, and others only if that is
/// harmless.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct RefusedStreamTests {
    static let started = Peer.started("http2.py")

    /// The place of the request on its connection: the first, or a later one.
    enum Place: CaseIterable, Sendable { case fresh, kept }

    private func peer(_ way: HTTP2Peer.Way, _ place: Place) async throws -> HTTP2Peer {
        let peer = try await HTTP2Peer(Self.started, way)
        if place == .kept { _ = try await peer.session.data(peer.request("/ok/10")) }
        return peer
    }

    private func post(_ path: String, to peer: HTTP2Peer) throws -> Request {
        var request = try peer.request(path)
        request.method = .post
        request.body = .string("once")
        return request
    }

    @Test(arguments: HTTP2Peer.Way.allCases, Place.allCases)
    func aPostOnARefusedStreamGoesAgain(_ way: HTTP2Peer.Way, _ place: Place) async throws {
        let peer = try await peer(way, place)
        let (_, response) = try await peer.session.data(post("/refused-once/\(UUID())", to: peer))
        #expect(response.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, Place.allCases)
    func aPostAboveTheLastStreamOfAGoAwayGoesAgain(_ way: HTTP2Peer.Way, _ place: Place) async throws {
        let peer = try await peer(way, place)
        let (_, response) = try await peer.session.data(post("/goaway/before/\(UUID())", to: peer))
        #expect(response.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// An upload is repeated with a new body, even if a part of the body was sent.
    @Test(arguments: HTTP2Peer.Way.allCases)
    func anUploadThatCanBeMadeAgainGoesAgain(_ way: HTTP2Peer.Way) async throws {
        let peer = try await peer(way, .kept)
        var request = try peer.request("/refused-once/\(UUID())")
        request.method = .post
        let (_, response) = try await peer.session.upload(Data(count: 2_000_000), to: request)
        #expect(response.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func aPostThatIsRefusedForEverFails() async throws {
        let peer = try await peer(.tls, .fresh)
        let request = try post("/rst/before-head/REFUSED_STREAM", to: peer)
        await expectFailure([.http2, .receive, .send]) { try await peer.session.data(request) }
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A POST that is refused and then reset is not repeated after the reset. The engine itself repeats a refused request, but a reset has
    /// another meaning.
    @Test(arguments: HTTP2Peer.Way.allCases, Place.allCases)
    func aPostThatIsRefusedAndThenResetIsNotRepeated(_ way: HTTP2Peer.Way, _ place: Place) async throws {
        let peer = try await peer(way, place)
        let key = UUID().uuidString
        let request = try post("/refused-then/INTERNAL_ERROR/\(key)", to: peer)
        let error = await expectFailure([.http2, .receive, .send]) { try await peer.session.data(request) }
        #expect(error?.mayHaveSentBytes == true)
        #expect(error?.isRetryable == false)
        #expect(try await peer.session.data(peer.request("/attempts/\(key)")).0.count == 2)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A GET on a kept connection that ends is repeated: it may have been processed, but a repetition is harmless. (Over TLS: with prior
    /// knowledge, 7.88 keeps no connection.)
    @Test(arguments: ["/without-goaway", "/with-goaway"])
    func aGetOnAKeptConnectionThatEndsGoesAgain(_ goaway: String) async throws {
        let peer = try await peer(.tls, .kept)
        let (_, response) = try await peer.session.data(peer.request("/close-once/\(UUID())\(goaway)"))
        #expect(response.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A POST that may have been processed is not repeated: the caller has to decide that.
    @Test(
        arguments: [
            "rst-once/INTERNAL_ERROR", "rst-once/CANCEL", "rst-once/NO_ERROR", "rst-once/ENHANCE_YOUR_CALM",
            "close-once",
        ], ["", "/close", "/with-goaway"])
    func aPostThatMayHaveArrivedIsNotRepeated(_ path: String, _ then: String) async throws {
        guard path.hasPrefix("rst") != (then == "/with-goaway") else { return }
        let peer = try await peer(.tls, .kept)
        let request = try post("/\(path)/\(UUID())\(then)", to: peer)
        let error = await expectFailure([.http2, .receive, .truncatedBody, .send]) {
            try await peer.session.data(request)
        }
        #expect(error?.mayHaveSentBytes == true)
        #expect(error?.isRetryable == false)
        try await peer.isHealthyAndLeavesNothing()
    }
}
