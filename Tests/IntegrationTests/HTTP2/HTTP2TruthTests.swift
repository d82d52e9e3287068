import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis

/// A response over HTTP/2 is complete, or it is an error. This also applies without a length, where only END_STREAM (RFC 9113, section 8.1)
/// marks the end.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2TruthTests {
    private static let started = Peer.started("http2.py")

    static let violations = [
        "large-frame", "settings-length", "data-of-no-stream", "interleaved", "window-overflow", "compression",
    ]

    /// Returns all ways to HTTP/2 with all violations and another argument, or, in the everyday run, a selection in which each of them
    /// occurs.
    private static func violations(_ others: [String]) -> [(HTTP2Peer.Way, Pair)] {
        let all = HTTP2Peer.Way.allCases.flatMap { way in violations.product(others).map { (way, $0) } }
        return stride(from: 0, to: all.count, by: Scale.isFull ? 1 : 5).map { all[$0] }
    }

    /// A body without a length on a broken connection is an error. The server does not close the connection, because that would be another
    /// kind of end.
    @Test(arguments: violations(["after-head", "in-body", "at-once"]))
    func bodyWithoutLengthOnABrokenConnection(_ way: HTTP2Peer.Way, _ row: Pair) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let path = "/broken/\(row.first)/\(row.second)/without-length"
        await peer.fails(path, with: .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases, ["before-head", "after-head", "in-body", "filled"])
    func bodyWithLengthOnABrokenConnection(_ way: HTTP2Peer.Way, _ place: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        await peer.fails("/broken/large-frame/\(place)/with-length", with: .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases)
    func connectionThatEndsBeforeTheStreamOfAFilledBody(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        await peer.fails("/cut-when-filled", with: .http2, .truncatedBody)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A complete body without a length arrives before the end that a GOAWAY announces. The connection ends here too, but in order.
    @Test(arguments: HTTP2Peer.Way.allCases, ["before-head", "in-body"].product(["at-once", "own"]))
    func wholeBodyWithoutLengthBeforeTheEndThatGoAwayAnnounces(_ way: HTTP2Peer.Way, _ row: Pair) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let (data, _) = try await peer.session.data(peer.request("/goaway-whole/\(row.first)/\(row.second)"))
        #expect(data.count == 50)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A GOAWAY justifies the end of the connection, but not a missing end of the response.
    @Test(arguments: violations(["own/NO_ERROR", "at-once/NO_ERROR", "own/INTERNAL_ERROR"]))
    func bodyWithoutLengthOnAConnectionThatBreaksAfterGoAway(_ way: HTTP2Peer.Way, _ row: Pair) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        await peer.fails("/goaway-broken/\(row.first)/\(row.second)", with: .http2)
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test(arguments: HTTP2Peer.Way.allCases)
    func wholeBodyWithoutLengthAfterGoAwayAndPing(_ way: HTTP2Peer.Way) async throws {
        let peer = try await HTTP2Peer(Self.started, way)
        let key = UUID().uuidString
        async let answer = peer.session.data(peer.request("/goaway-pinged/\(key)"))
        // The engine has handled the PING when another connection has its turn, and then the response ends.
        for path in ["/pinged/\(key)", "/go-on/\(key)"] {
            let scheme = way == .tls ? "https" : "http"
            _ = try await peer.session.data(peer.peer.url("other-\(way.rawValue)", path, scheme: scheme))
        }
        #expect(try await answer.0.count == 50)
        try await peer.isHealthyAndLeavesNothing()
    }

    /// A request is repeated over HTTP/1.1 only if no part of a response has arrived.
    @Test(
        arguments: [HTTPRequest.Method.get, .post],
        ["after-head", "in-body"].product(["with-length", "without-length"]))
    func http11RequiredAfterTheHeadIsAnErrorOfHTTP2(_ method: HTTPRequest.Method, _ row: Pair) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let request = try peer.request("/rst/\(row.first)/HTTP_1_1_REQUIRED/\(row.second)").withMethod(method)
        let error = await expectFailure([.http2]) { try await peer.session.data(request) }
        #expect(error?.description.contains("HTTP_1_1_REQUIRED") == true, "\(error?.description ?? "")")
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func serverThatAgreesOnHTTP2AndSpeaksHTTP1() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let url = try peer.peer.url("impostor")
        await expectFailure([.http2]) { try await peer.session.data(url) }
        try await peer.isHealthyAndLeavesNothing()
    }
}

/// A pair of arguments of a test.
struct Pair: Sendable, CustomTestStringConvertible {
    let first: String
    let second: String
    var testDescription: String { "\(first), \(second)" }
}

extension [String] {
    /// Returns all pairs of a string of this array and a string of another array.
    func product(_ others: [String]) -> [Pair] {
        flatMap { first in others.map { Pair(first: first, second: $0) } }
    }
}
