import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisUpgrades

/// The requests of a session with a store of alternative services.
@Suite(.timeLimit(.minutes(3)))
struct AlternativeServiceCallTests {
    private static let field = HTTPFields(dictionaryLiteral: (.init("Alt-Svc") ?? .te, "h3=\"alt.example:444\""))

    private let store = AlternativeServiceStore(hasHTTP3: true) { Date() }
    private let url = "https://a.example/x"

    /// Returns a session whose transport advertises a service, and responds to a request to that service with `answer`.
    private func session(
        _ change: (inout SessionConfiguration) -> Void = { _ in },
        answer: @escaping MockTransport.Handler = { _ in .text("alternative") }
    ) -> (Session, MockTransport) {
        var configuration = SessionConfiguration()
        configuration.alternativeServices = store
        change(&configuration)
        let transport = MockTransport { request in
            if request["Alt-Used"] != nil { return try await answer(request) }
            return MockResponse(headers: Self.field, body: Data("origin".utf8))
        }
        // On a slow machine, the two seconds for connecting to a service would pass.
        return (Session(configuration: configuration, transport: transport, clock: TestClock()), transport)
    }

    private func texts(_ session: Session, _ requests: Request...) async throws -> [String] {
        var texts: [String] = []
        for request in requests { texts.append(try await session.string(request)) }
        return texts
    }

    @Test func theNextRequestsGoToTheService() async throws {
        let (session, transport) = session()
        let post = Request(url, method: .post, body: .string("abc"))
        #expect(try await texts(session, Request(url), Request(url), post) == ["origin", "alternative", "alternative"])
        let stream = try await session.stream(url)
        #expect(String(decoding: try await stream.chunks.collect(upTo: 100), as: UTF8.self) == "alternative")
        #expect(
            transport.requests.map { $0["Alt-Used"] } == [nil, "alt.example:444", "alt.example:444", "alt.example:444"])
        #expect(transport.requests.allSatisfy { $0.url == url })
        let wire = transport.requests.map(\.wire)
        #expect(wire.map(\.route.parts.connectTo) == [nil, "alt.example:444", "alt.example:444", "alt.example:444"])
        #expect(wire.map(\.version) == [.http2OverTLS, .http3Only, .http3Only, .http3Only])
        // The connections to the service are shared.
        #expect(wire[1].route === wire[2].route)
    }

    /// A service on the host and port of the origin needs no other route.
    @Test func aServiceAtTheOriginItself() async throws {
        try store.receive("h3=\":443\"", from: url)
        let (session, transport) = session()
        #expect(try await texts(session, Request(url)) == ["alternative"])
        #expect(transport.requests.map { $0["Alt-Used"] } == ["a.example"])
        #expect(transport.requests.map(\.wire.route.parts.connectTo) == ["a.example:443"])
        #expect(transport.requests.map(\.wire.version) == [.http3Only])
    }

    @Test func theServiceIsNotForEveryRequest() async throws {
        try store.receive("h3=\":443\"", from: url)
        let (session, transport) = session { $0.baseURL = "https://a.example/" }
        var versions: [Request] = []
        for version in [HTTPVersionPolicy.http1Only, .http2PriorKnowledge, .http3Preferred] {
            versions.append(Request(url).setting(\.httpVersion, to: version))
        }
        for request in versions { _ = try await session.data(request) }
        _ = try await session.data(Request(url).withProxy(.always(try Proxy("http://proxy.example:1"))))
        _ = try await session.data("http://a.example/")
        _ = try await session.data("https://b.example/")
        #expect(transport.requests.allSatisfy { $0["Alt-Used"] == nil })
        #expect(try await texts(session, Request("y")) == ["alternative"])
    }

    @Test func withoutVerificationNothingIsLearnedOrUsed() async throws {
        let (session, transport) = session { $0.tls = .insecureWithoutAnyVerification() }
        #expect(try await texts(session, Request(url)) == ["origin"])
        #expect(await store.services(for: url).isEmpty)
        try store.receive("h3=\":443\"", from: url)
        #expect(try await texts(session, Request(url)) == ["origin"])
        #expect(transport.requests.count == 2)
    }

    @Test func aHostWithoutVerificationTeachesNothing() async throws {
        let pattern = try HostPattern("a.example")
        let (session, _) = session { $0.tlsForHosts[pattern] = .insecureWithoutAnyVerification() }
        #expect(try await texts(session, Request(url)) == ["origin"])
        #expect(await store.services(for: url).isEmpty)
        try store.receive("h3=\":443\"", from: url)
        #expect(try await texts(session, Request(url)) == ["origin"])
    }

    @Test func aChangeOfTheNetworkForgetsServices() async throws {
        let network = TestNetwork()
        let (session, _) = session { $0.reachability = network.reachability }
        try store.receive("h3=\":443\"; persist=1, h3=\":444\"", from: url)
        #expect(await store.services(for: url).count == 2)
        network.changeUplinks()
        while await store.services(for: url).count != 1, !Task.isCancelled { await Task.yield() }
        await session.shutdown()
        try store.receive("h3=\":444\"", from: url)
        network.changeUplinks()
        #expect(await store.services(for: url).count == 1)
    }

    /// Nothing was sent to a service to which no connection can be made: the origin gets the request at once, whatever its method.
    @Test(
        arguments: [
            .connectionFailed(.unreachable("refused")), .connectionFailed(.nameResolution("unknown")),
            .securityFailed(.untrusted(UntrustedCertificate(.selfSigned))), .securityFailed(.handshake("closed")),
            .exchangeFailed(.http3("closed")),
        ] as [TrellisError.Reason])
    func aServiceThatCannotBeReached(_ reason: TrellisError.Reason) async throws {
        let events = Locked<[String]>([])
        let scripted = Scripted { configuration in
            configuration.alternativeServices = store
            configuration.eventMonitors = [Words(events)]
        }
        try store.receive("h3=\":443\"", from: url)
        for isFirst in [true, false] {
            let request = Request(url, method: .post, body: .string("abc"))
            let answer = Task { try await scripted.session.string(request) }
            var attempt = try await scripted.transport.nextAttempt()
            if isFirst {
                #expect(attempt.request["Alt-Used"] == "a.example")
                attempt.fail(reason)
                attempt = try await scripted.transport.nextAttempt()
            }
            #expect(attempt.request["Alt-Used"] == nil)
            attempt.respond("origin")
            #expect(try await answer.value == "origin")
        }
        await scripted.session.shutdown()
        #expect(events.withLock { $0 } == ["h3 at a.example:443", "h3 at a.example:443 failed"])
    }

    /// A service that does not answer has two seconds; the origin then has all of the time for connecting.
    @Test func aServiceThatIsSilent() async throws {
        let scripted = Scripted { $0.alternativeServices = store }
        try store.receive("h3=\":443\"", from: url)
        let answer = outcome { [url] in try await scripted.session.string(url) }
        let first = try await scripted.transport.nextAttempt()
        await scripted.advance(by: .seconds(2))
        let second = try await scripted.transport.nextAttempt()
        #expect(first.commands.contains(.cancel))
        #expect(second.request["Alt-Used"] == nil)
        await scripted.advance(by: .seconds(10))
        #expect(await answer.value == .failed(.timedOut(.connect)))
        await scripted.session.shutdown()
    }

    /// A request that may have been sent is not sent again, but the service is not used for the next one.
    @Test func aServiceThatFailsLater() async throws {
        let scripted = Scripted { $0.alternativeServices = store }
        try store.receive("h3=\":443\"", from: url)
        let answer = outcome { [url] in try await scripted.session.string(url) }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.fail(.exchangeFailed(.http3("reset")))
        #expect(await answer.value == .failed(.exchangeFailed(.http3("reset"))))
        #expect(try store.used(url) == nil)
        await scripted.session.shutdown()
    }

    @Test func aServiceThatDoesNotServeTheOrigin() async throws {
        try store.receive("h3=\"alt.example:444\"", from: url)
        let (session, transport) = session(answer: { _ in MockResponse(status: 421) })
        let (_, response) = try await session.data(Request(url, method: .post, body: .string("abc")))
        #expect(response.status == .ok)
        #expect(transport.requests.last?.body?.data == Data("abc".utf8))
        #expect(transport.requests.count == 2)
        #expect(try store.used(url) == nil)
        #expect(try await texts(session, Request(url)) == ["origin"])
    }

    /// A server that does not serve the origin knows nothing about its services (RFC 7838, section 6).
    @Test func theFieldOfAMisdirectedRequestIsIgnored() async throws {
        try store.receive("h3=\"alt.example:444\", h3=\":445\"", from: url)
        var configuration = SessionConfiguration()
        configuration.alternativeServices = store
        let headers = HTTPFields(dictionaryLiteral: (.init("Alt-Svc") ?? .te, "clear"))
        let transport = MockTransport { _ in MockResponse(status: 421, headers: headers) }
        let session = Session(configuration: configuration, transport: transport, clock: TestClock())
        _ = try await session.data(url)
        #expect(transport.requests.count == 2)
        #expect(await store.services(for: url).map(\.port) == [445])
    }

    /// The source of a body may be read before the connection to a service has failed, so the origin gets a body that can be read once.
    @Test func aBodyThatCanBeReadOnceGoesToTheOrigin() async throws {
        try store.receive("h3=\"alt.example:444\"", from: url)
        let (session, transport) = session()
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("abc".utf8))
            continuation.finish()
        }
        let (_, response) = try await session.data(Request(url, method: .post, body: .stream(chunks, length: 3)))
        #expect(response.status == .ok)
        #expect(transport.requests.map { $0["Alt-Used"] } == [nil])
        #expect(transport.requests.last?.body?.data == Data("abc".utf8))
    }

    /// Nothing sends the fields behind a body over HTTP/3. A request without a body has none.
    @Test func aRequestWithTrailersGoesToTheOrigin() async throws {
        try store.receive("h3=\":443\"", from: url)
        let (session, transport) = session()
        let post = Request(url, method: .post, body: .string("abc")).withTrailers { [.eTag: "sum"] }
        let get = Request(url).withTrailers { [.eTag: "sum"] }
        #expect(try await texts(session, post, get) == ["origin", "alternative"])
        #expect(transport.requests.map(\.wire.version) == [.http2OverTLS, .http3Only])
    }

    /// A redirect leads to the service of its own origin, and the origin's own redirect has no mark of the service.
    @Test func aRedirectFromAService() async throws {
        try store.receive("h3=\":443\"", from: url)
        let (session, transport) = session(answer: { _ in
            MockResponse(status: 302, headers: [.location: "https://b.example/y"])
        })
        let (_, response) = try await session.data(url)
        #expect(response.url == "https://b.example/y")
        #expect(transport.requests.map { $0["Alt-Used"] } == ["a.example", nil])
        #expect(transport.requests.last?.wire.version == .http2OverTLS)
    }

    /// The time for connecting to the service is a part of the request's.
    @Test(
        arguments: [
            (nil, 2_000_000_000), (Duration.seconds(4), 1_000_000_000), (.milliseconds(80), 20_000_000),
            (.seconds(100), 2_000_000_000),
        ] as [(Duration?, UInt64)])
    func theTimeForConnecting(_ connect: Duration?, _ expected: UInt64) async throws {
        let (session, _) = session()
        var request = Request(url)
        request.timeouts = Timeouts(connect: connect, idle: .seconds(7))
        let service = AlternativeService(protocolID: "h3", host: "alt.example", port: 1)
        let sent = session.upgrades.sending(request, to: service, .memory)
        let limits = session.preparation.limits(of: sent, delivery: .memory)
        #expect(limits.connect == expected)
        #expect(limits.idle == 7_000_000_000)
    }

    @Test func aCancelledRequestIsNoFailureOfTheService() async throws {
        try store.receive("h3=\":443\"", from: url)
        let gate = LoopbackServer.Gate()
        let (session, transport) = session(answer: { _ in
            try await gate.opened()
            return .text("late")
        })
        let task = Task { [url] in try await session.data(url) }
        try await transport.waitUntilRequested(count: 1)
        // Another request does not wait for the one that tests the service.
        #expect(try await texts(session, Request(url)) == ["origin"])
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        try store.receive("h3=\":443\"", from: url)
        #expect(try await texts(session, Request(url)) == ["late"])
    }

    /// The events about alternative services as words.
    private final class Words: EventMonitor {
        private let words: Locked<[String]>
        init(_ words: Locked<[String]>) { self.words = words }

        func handle(_ event: RequestEvent) async {
            switch event.kind {
            case .alternativeSelected(let service): words.withLock { $0.append("\(service)") }
            case .alternativeFailed(let service, _): words.withLock { $0.append("\(service) failed") }
            default: break
            }
        }
    }
}
