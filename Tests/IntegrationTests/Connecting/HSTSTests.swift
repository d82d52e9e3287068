import Foundation
import Testing
import Trellis
import TrellisTesting

/// Hosts that ask for https are reached over https (RFC 6797).
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HSTSTests {
    static let started = Peer.started("upgrades.py")

    private let peer: Peer
    private let store = HSTSStore()

    init() async throws { peer = try await Self.started.value }

    private func session(
        _ store: HSTSStore? = nil, insecure: Bool = false, clock: TestClock? = nil,
        _ monitor: (any EventMonitor)? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.hsts = store ?? self.store
        configuration.tls =
            insecure
            ? .insecureWithoutAnyVerification()
            : TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        if let monitor { configuration.eventMonitors = [monitor] }
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    private func url(_ port: String, _ path: String = "/", scheme: String) throws -> String {
        try peer.url(port, path, scheme: scheme, host: "localhost")
    }

    private func end(_ session: Session) async throws {
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test func aHostAsksForHTTPSAndTakesThatBack() async throws {
        let session = session()
        await expectFailure([.receive, .malformedResponse]) { try await session.data(url("hsts", scheme: "http")) }
        _ = try await session.data(url("hsts", scheme: "https"))
        let (_, response) = try await session.data(url("hsts", "/x?y", scheme: "http"))
        #expect(response.url == (try url("hsts", "/x?y", scheme: "https")))
        #expect(response.redirects.isEmpty)
        _ = try await session.data(url("hsts", "/forget", scheme: "http"))
        #expect(await store.hosts.isEmpty)
        await expectFailure([.receive, .malformedResponse]) { try await session.data(url("hsts", scheme: "http")) }
        try await end(session)
    }

    @Test func nothingIsLearnedOverHTTPFromAddressesOrWithoutVerification() async throws {
        let (session, insecure) = (session(), session(insecure: true))
        let (_, response) = try await session.data(url("plain", scheme: "http"))
        #expect(response.headers[.strictTransportSecurity] != nil)
        _ = try await session.data(peer.url("hsts"))
        _ = try await insecure.data(url("hsts", scheme: "https"))
        _ = try await insecure.data(url("hsts-expired", scheme: "https"))
        #expect(await store.hosts.isEmpty)
        await insecure.shutdown()
        try await end(session)
    }

    @Test func aServerThatRedirectsBackToHTTP() async throws {
        let session = session()
        await expectFailure([.tooManyRedirects]) { try await session.data(url("hsts", "/back", scheme: "https")) }
        try await end(session)
    }

    /// A certificate of a known host has no exceptions, and the request does not fall back to http (section 8.4).
    @Test func aKnownHostWithABadCertificate() async throws {
        await store.insert(try #require(HSTSHost(name: "localhost")))
        let session = session()
        let error = await expectFailure([.untrusted]) { try await session.data(url("hsts-expired", scheme: "http")) }
        #expect(error?.url == (try url("hsts-expired", scheme: "https")))
        #expect(error?.mayHaveSentBytes == false)
        // A server without TLS gets nothing but the beginning of a handshake.
        let clock = TestClock(), events = ConnectionEvents()
        let clocked = self.session(clock: clock, events), request = Request(try url("plain", scheme: "http"))
        async let failure = expectFailure([.tls, .connectTimeout]) { try await clocked.data(request) }
        try await events.wait(for: "handshaking localhost")
        await clocked.settle()
        clock.move(by: .seconds(10))
        _ = await failure
        await clocked.shutdown()
        try await end(session)
    }

    @Test func aLaterSessionKnowsTheHostsOfTheFile() async throws {
        let path = NSTemporaryDirectory() + "/trellis-hsts-\(UUID().uuidString)"
        defer { for name in [path, path + ".lock"] { try? FileManager.default.removeItem(atPath: name) } }
        let first = session(HSTSStore(file: path))
        _ = try await first.data(url("hsts", scheme: "https"))
        await first.shutdown()
        let second = session(HSTSStore(file: path))
        let stream = try await second.stream(url("hsts", scheme: "http"))
        #expect(stream.response.url.hasPrefix("https://"))
        _ = try await stream.chunks.collect(upTo: 100)
        try await end(second)
    }
}
