import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Alternative services are used where the running libcurl has HTTP/3 (RFC 7838).
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct AlternativeServiceTests {
    /// The services that were selected, and those that failed.
    private final class Services: EventMonitor {
        private let list = Locked<[String]>([])
        /// The gate that opens when the request to a selected service has been admitted: it begins some time after the selection.
        let admitted = LoopbackServer.Gate()
        var all: [String] { list.withLock { $0 } }

        func handle(_ event: RequestEvent) async {
            switch event.kind {
            case .alternativeSelected: list.withLock { $0.append("selected") }
            case .admitted: if !all.isEmpty { admitted.open() }
            case .alternativeFailed(_, let error):
                list.withLock { $0.append((error as? TrellisError)?.kind.rawValue ?? "\(error)") }
            default: break
            }
        }
    }

    private let peer: Peer
    private let store = AlternativeServiceStore()
    private let services = Services()
    private let clock = TestClock()
    private let session: Session

    init() async throws {
        peer = try await HSTSTests.started.value
        session = Self.session(peer, store, services, clock)
    }

    private static func session(
        _ peer: Peer, _ store: AlternativeServiceStore, _ services: Services, _ clock: TestClock,
        _ egress: EgressPolicy? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.alternativeServices = store
        configuration.eventMonitors = [services]
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.egress = egress
        return Session(configuration: configuration, clock: clock)
    }

    private func request(_ port: String, _ path: String = "/x", body: String? = nil) throws -> Request {
        let url = try peer.url(port, path, host: "localhost")
        return body.map { Request(url, method: .post, body: .string($0)) } ?? Request(url)
    }

    /// Ends the session, and returns the events about services.
    private func end() async throws -> [String] {
        await session.shutdown()
        try await peer.waitUntilAllClosed()
        return services.all
    }

    private static var hasHTTP3: ConditionTrait {
        .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3")
    }

    @Test(hasHTTP3) func aServiceOnAnotherPort() async throws {
        let used = "127.0.0.1:\(try #require(peer.announcement.ports["h3"]))"
        #expect(try await session.string(request("alternative")) == "origin  ")
        for number in 1...3 {
            let (data, response) = try await session.data(request("alternative", body: "abc"))
            #expect(String(decoding: data, as: UTF8.self) == "h3 \(used) abc")
            #expect(response.version == .http3)
            #expect(response.url == (try request("alternative").url))
            #expect(response.metrics.isReusedConnection == (number > 1))
        }
        #expect(try await end() == ["selected", "selected", "selected"])
    }

    @Test(hasHTTP3) func aServiceThatTheEgressPolicyRefuses() async throws {
        var policy = EgressPolicy()
        policy.ports = [try #require(peer.announcement.ports["alternative"])]
        let careful = Self.session(peer, store, services, clock, policy)
        for number in 1...2 {
            let (_, response) = try await careful.data(request("alternative", body: "\(number)"))
            #expect(response.version == .http1_1)
        }
        await careful.shutdown()
        #expect(try await end() == ["selected", "egress_refused"])
    }

    /// Nothing sends the fields behind a body over HTTP/3.
    @Test(hasHTTP3) func aRequestWithTrailersGoesToTheOrigin() async throws {
        let sum = try #require(HTTPField.Name("X-Sum"))
        #expect(try await session.string(request("alternative")) == "origin  ")
        let request = try request("alternative", body: "abc").withTrailers { [sum: "7"] }
        let (data, response) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "origin  abc X-Sum: 7")
        #expect(response.version == .http1_1)
        #expect(try await end() == [])
    }

    @Test(hasHTTP3) func aServiceOnTheSamePort() async throws {
        let port = try #require(peer.announcement.ports["same"])
        #expect(try await session.string(request("same")) == "origin  ")
        let stream = try await session.stream(request("same"))
        #expect(stream.response.version == .http3)
        #expect(String(decoding: try await stream.chunks.collect(upTo: 100), as: UTF8.self) == "h3 localhost:\(port) ")
        #expect(try await end() == ["selected"])
    }

    /// A service that cannot be reached, or whose certificate is not the origin's, gets nothing; the origin gets the request.
    @Test(
        hasHTTP3,
        arguments: [("dead", ["connect", "http3"]), ("foreign", ["untrusted"]), ("silent", ["timeout_connect"])])
    func aServiceThatFails(_ port: String, _ kinds: [String]) async throws {
        for number in 1...3 {
            let request = try request(port, body: "\(number)")
            async let answer = session.data(request)
            if port == "silent", number == 2 {
                try await services.admitted.opened()
                await session.settle()
                clock.move(by: .seconds(10))
            }
            let (data, response) = try await answer
            #expect(String(decoding: data, as: UTF8.self) == "origin  \(number)")
            #expect(response.version == .http1_1)
        }
        let events = try await end()
        #expect(events.count == 2 && events.first == "selected" && kinds.contains(events.last ?? ""), "\(events)")
    }

    /// An evaluator whose first call ends with its task.
    private final class SlowAtFirst: ServerTrustEvaluating {
        private let count = Locked(0)
        let begun = LoopbackServer.Gate(), ended = LoopbackServer.Gate()

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            guard isFirst else { return }
            begun.open()
            defer { ended.open() }
            try await LoopbackServer.Gate().opened()
        }
    }

    /// The request goes to the origin, whose evaluation is not slow. The next one does not wait for the service.
    ///
    /// The servers are the test's own: libcurl does not tell the service that it gives up its connection, which ends there after seconds.
    @Test(hasHTTP3) func aSlowEvaluatorAtAService() async throws {
        let peer = try await Peer.startedOnce("upgrades.py", [])
        let request = Request(try peer.url("alternative", "/x", host: "localhost"))
        var configuration = session.configuration
        let evaluator = SlowAtFirst()
        configuration.serverTrustManager = ServerTrustManager(everyHost: evaluator)
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        var plainConfiguration = configuration
        plainConfiguration.serverTrustManager = nil
        let plain = Session(configuration: plainConfiguration)
        _ = try await plain.data(request)
        await plain.shutdown()
        let evaluated = Session(configuration: configuration, clock: clock)
        async let answer = evaluated.data(request)
        try await evaluator.begun.opened()
        // The limit of ten seconds counts from a moment after the beginning of the evaluation. It is that of the connection to the origin,
        // too, which begins then.
        try await clock.move(by: .seconds(3), in: evaluated) { evaluator.ended.isOpen }
        for answer in [try await answer, try await evaluated.data(request)] { #expect(answer.1.version == .http1_1) }
        await evaluated.shutdown()
        #expect(try await end() == ["selected", "timeout_connect"])
    }

    @Test(hasHTTP3) func aServiceThatDoesNotServeTheOrigin() async throws {
        _ = try await session.data(request("alternative"))
        for _ in 1...2 {
            #expect(try await session.string(request("alternative", "/misdirected", body: "abc")) == "origin  abc")
        }
        #expect(try await end() == ["selected", "unacceptable_status"])
    }

    @Test(.enabled(if: !RunningLibcurl.hasHTTP3, "not for a libcurl with HTTP/3"))
    func withoutHTTP3ServicesAreKeptButNotUsed() async throws {
        for _ in 1...2 { #expect(try await session.string(request("alternative")) == "origin  ") }
        #expect(await store.services(for: try request("alternative").url).map(\.protocolID) == ["h2", "h3"])
        #expect(try await end() == [])
    }
}
