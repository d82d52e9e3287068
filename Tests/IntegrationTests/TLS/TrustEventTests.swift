import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The events of TLS connections: handshakes, the evaluation of servers, and streams on shared connections.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct TrustEventTests {
    /// An evaluator that takes time.
    private struct Slow: ServerTrustEvaluating {
        struct Distrust: Error {}

        let accepts: Bool

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            await Task.yield()
            if !accepts { throw Distrust() }
        }
    }

    private let events = ConnectionEvents()
    private let peer: PinPeer

    init() async throws { peer = try await PinPeer() }

    private func session(_ evaluator: (any ServerTrustEvaluating)? = nil) -> Session {
        peer.session(evaluator.map { ServerTrustManager(everyHost: $0) }) { $0.eventMonitors = [events] }
    }

    /// The words, without the address, whose port is the peer's.
    private var words: [String] { events.words.map { $0.hasPrefix("connecting") ? "connecting" : $0 } }

    private static let handshake = ["connecting", "handshaking 127.0.0.1"]
    private static let beginning = ["created", "queued", "admitted"]
    private static let rest = ["connected", "sent", "head 200", "ended kept", "finished 200"]

    @Test func aHandshake() async throws {
        let session = session()
        _ = try await session.data(peer.url("chain"))
        await session.shutdown()
        #expect(words == Self.beginning + Self.handshake + Self.rest)
        let connection = try #require(events.connections.first)
        #expect(connection.isSecure && !connection.isShared && connection.version == .http1_1)
        #expect(connection.tls > .zero)
    }

    @Test func aHandshakeThatFails() async throws {
        let events = events
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [events]
        let session = Session(configuration: configuration)
        let url = try peer.url("chain")
        await expectFailure([.untrusted]) { try await session.data(url) }
        await session.shutdown()
        #expect(words.prefix(5) == (Self.beginning + Self.handshake)[...])
        #expect(words.suffix(2).map { $0.prefix(6) } == ["ended ", "failed"] && words.count == 7)
    }

    @Test func streamsOfOneConnection() async throws {
        let session = session()
        let request = Request(try peer.url("h2", "/ok")).withHTTPVersion(.http2)
        for _ in 1...2 { _ = try await session.data(request) }
        await session.shutdown()
        #expect(
            words == Self.beginning + Self.handshake + Self.rest + Self.beginning + ["shared"]
                + Self.rest.dropFirst())
        #expect(events.connections.allSatisfy { $0.version == .http2 && $0.isShared && $0.isSecure })
        #expect(events.connections[0].localPort == events.connections[1].localPort)
    }

    /// A server that an evaluator has trusted is told once for its connection.
    @Test func aServerThatIsTrusted() async throws {
        let session = session(try peer.evaluator(["leaf"]))
        for _ in 1...2 { _ = try await session.data(peer.url("chain")) }
        await session.shutdown()
        #expect(
            words == Self.beginning + Self.handshake + ["trusts"] + Self.rest + Self.beginning + ["kept"]
                + Self.rest.dropFirst())
    }

    @Test func aServerThatIsRefused() async throws {
        let session = session(try peer.evaluator(["stray"]))
        let url = try peer.url("chain")
        await expectFailure([.pinMismatch]) { try await session.data(url) }
        await session.shutdown()
        #expect(words.prefix(6) == (Self.beginning + Self.handshake + ["refuses"])[...])
        #expect(words.count == 8 && words[6].hasPrefix("ended pin_mismatch") && words[7] == "failed pin_mismatch")
    }

    @Test func aDeviationThatIsReported() async throws {
        let session = session(try peer.evaluator(["stray"], .reportOnly))
        _ = try await session.data(peer.url("chain"))
        await session.shutdown()
        #expect(words == Self.beginning + Self.handshake + ["reported", "trusts"] + Self.rest)
    }

    @Test(arguments: [true, false])
    func anEvaluatorThatTakesTime(_ accepts: Bool) async throws {
        let session = session(Slow(accepts: accepts))
        let url = try peer.url("chain")
        if accepts {
            _ = try await session.data(url)
        } else {
            await expectFailure([.trustRefused]) { try await session.data(url) }
        }
        await session.shutdown()
        let beginning = Self.beginning + Self.handshake + ["evaluating"]
        let end =
            accepts
            ? ["queued", "admitted"] + Self.handshake + ["trusts"] + Self.rest : ["refuses", "failed trust_refused"]
        #expect(words == beginning + end)
    }
}
