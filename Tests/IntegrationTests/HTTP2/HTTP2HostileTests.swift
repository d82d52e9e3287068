import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A hostile HTTP/2 server loses its connection, with the reason in the error. An honest one that refuses streams and goes away loses no
/// request.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(
    .timeLimit(.minutes(3)), .serialized, .requiresPeers,
    .enabled(if: EngineConfiguration.sharesConnections, "needs nghttp2"))
struct HTTP2HostileTests {
    private static let started = Peer.started("http2_hostile.py")

    private func peer(_ way: HTTP2Peer.Way) async throws -> HTTP2Peer {
        try await HTTP2Peer(Self.started, way, leaping: LeapingClock())
    }

    private func post(_ path: String, to peer: HTTP2Peer) throws -> Request {
        try peer.request(path).withMethod(.post).withBody(.string("once"))
    }

    private func attempts(_ key: String, at peer: HTTP2Peer) async throws -> Int {
        try await peer.session.data(peer.request("/attempts/\(key)")).0.count
    }

    // MARK: Floods

    /// A flood, and a part of the error's text; none where nghttp2 has its own.
    struct Flood: Sendable, CustomTestStringConvertible {
        let kind: String
        var words = ""

        var testDescription: String { kind }
    }

    static let floods = [
        Flood(kind: "ping", words: "too many PING frames"),
        Flood(kind: "answers", words: "too many frames without a purpose"),
        Flood(kind: "settings", words: "too many SETTINGS frames"),
        Flood(kind: "settings-values"),
        Flood(kind: "acknowledgements"),
        Flood(kind: "window-updates", words: "too many WINDOW_UPDATE frames"),
        Flood(kind: "stream-window-updates", words: "too many WINDOW_UPDATE frames"),
        // The first one ends the request.
        Flood(kind: "resets", words: "NO_ERROR"),
        Flood(kind: "empty-data", words: "too many DATA frames without content"),
        Flood(kind: "padding", words: "too many DATA frames without content"),
        Flood(kind: "priority", words: "too many frames without a purpose"),
        Flood(kind: "unknown", words: "too many frames without a purpose"),
        Flood(kind: "goaway", words: "too many frames without a purpose"),
        Flood(kind: "continuations", words: "CONTINUATION"),
        Flood(kind: "informational"),
        Flood(kind: "indexed-fields"),
        Flood(kind: "promise", words: "promises a response"),
    ]

    @Test(arguments: HTTP2Peer.Way.allCases, floods)
    func aFloodEndsItsConnection(_ way: HTTP2Peer.Way, _ flood: Flood) async throws {
        let peer = try await peer(way)
        let error = await expectFailure([.http2, .malformedResponse]) {
            try await peer.session.data(peer.request("/flood/\(flood.kind)"))
        }
        #expect(flood.words.isEmpty || error?.description.contains(flood.words) == true, "\(error?.description ?? "")")
        try await peer.isHealthyAndLeavesNothing()
    }

    /// Content on a cancelled stream beyond its window ends the connection, and so another request on it.
    @Test(arguments: HTTP2Peer.Way.allCases) func contentAfterACancellation(_ way: HTTP2Peer.Way) async throws {
        let peer = try await peer(way)
        let other = try await peer.session.stream(peer.request("/begun"))
        let stream = try await peer.session.stream(peer.request("/data-after-reset"))
        for try await _ in stream.chunks { break }
        let error = await expectFailure([.http2]) { for try await _ in other.chunks {} }
        #expect(error?.description.contains("DATA on closed streams") == true, "\(error?.description ?? "")")
        try await peer.isHealthyAndLeavesNothing()
    }

    // MARK: GOAWAY

    @Test(arguments: HTTP2Peer.Way.allCases) func aGracefulPair(_ way: HTTP2Peer.Way) async throws {
        let peer = try await peer(way)
        #expect(try await peer.session.data(post("/goaway-pair", to: peer)).1.status == .ok)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases) func aGoAwayAfterEachResponse(_ way: HTTP2Peer.Way) async throws {
        let peer = try await peer(way)
        _ = try await peer.session.data(peer.request("/ok"))
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { try await peer.session.data(post("/goaway-each", to: peer)).1.status }
            }
            for try await status in group { #expect(status == .ok) }
        }
        try await peer.isHealthyAndLeavesNothing()
    }

    /// Ten requests on one connection, of which the server processes three: the others go to another connection, once.
    @Test(arguments: HTTP2Peer.Way.allCases) func aGoAwayInABurst(_ way: HTTP2Peer.Way) async throws {
        let peer = try await peer(way)
        let key = UUID().uuidString
        _ = try await peer.session.data(peer.request("/ok"))
        try await withThrowingTaskGroup { group in
            for _ in 0..<10 {
                group.addTask { try await peer.session.data(post("/goaway-burst/\(key)/10/3", to: peer)).1.status }
            }
            for try await status in group { #expect(status == .ok) }
        }
        #expect(try await attempts(key, at: peer) == 17)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, ["before-head", "in-body"])
    func theReasonOfAGoAwayIsInTheError(_ way: HTTP2Peer.Way, _ place: String) async throws {
        let peer = try await peer(way)
        let request = try post("/goaway-reason/ENHANCE_YOUR_CALM/\(place)", to: peer)
        let error = await expectFailure([.http2, .truncatedBody]) { try await peer.session.data(request) }
        let text = error?.description ?? ""
        #expect(text.contains(#"ENHANCE_YOUR_CALM): too_many\x1b[31m\x0apings"#), "\(text)")
        #expect(error?.isRetryable == false)
        await peer.session.shutdown()
        try await peer.peer.waitUntilAllClosed()
    }

    /// One more connection, and then none.
    @Test(arguments: HTTP2Peer.Way.allCases) func aServerThatAsksForCalmIsNotStormed(_ way: HTTP2Peer.Way) async throws
    {
        let peer = try await peer(way)
        let key = UUID().uuidString
        let error = await expectFailure([.http2]) { try await peer.session.data(post("/calm/\(key)", to: peer)) }
        #expect(error?.description.contains("header too large") == true, "\(error?.description ?? "")")
        #expect(try await attempts(key, at: peer) == 2)
        try await peer.isHealthyAndLeavesNothing()
    }

    // MARK: Refusals

    /// The number of refusals, and the number of requests that the server gets.
    @Test(arguments: HTTP2Peer.Way.allCases, [(1, 2), (5, 6), (6, 6), (100, 6)])
    func aRefusedPostGoesAgain(_ way: HTTP2Peer.Way, _ row: (refusals: Int, attempts: Int)) async throws {
        let peer = try await peer(way)
        let key = UUID().uuidString
        let request = try post("/refuse/\(key)/\(row.refusals)", to: peer)
        if row.refusals < row.attempts {
            #expect(try await peer.session.data(request).1.status == .ok)
        } else {
            let error = await expectFailure([.http2]) { try await peer.session.data(request) }
            #expect(error?.description.contains("REFUSED_STREAM") == true, "\(error?.description ?? "")")
            #expect(error?.isRetryable == true)
        }
        #expect(try await attempts(key, at: peer) == row.attempts)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A server that takes five streams at a time and does not say so.
    @Test(arguments: HTTP2Peer.Way.allCases) func aServerThatTakesFewStreams(_ way: HTTP2Peer.Way) async throws {
        let peer = try await peer(way)
        _ = try await peer.session.data(peer.request("/ok"))
        try await withThrowingTaskGroup { group in
            for _ in 0..<12 {
                group.addTask { try await peer.session.data(post("/refuse-beyond/5", to: peer)).1.status }
            }
            for try await status in group { #expect(status == .ok) }
        }
        try await peer.isHealthyAndLeavesNothing()
    }
}
