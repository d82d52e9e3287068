import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

@testable import TrellisCore

/// Ten servers behind one origin.
@Suite(.timeLimit(.minutes(3)))
struct EndpointTests {
    /// Servers on ports of 127.0.0.1, and a session whose origin they are.
    private struct Fleet {
        let servers: [LoopbackServer]
        let session: Session
        let events = ConnectionEvents()
        let scheme: String

        init(
            _ servers: [LoopbackServer], scheme: String = "http", _ policy: EndpointPolicy = .roundRobin,
            _ change: (inout SessionConfiguration) throws -> Void = { _ in }
        ) throws {
            self.servers = servers
            self.scheme = scheme
            let pool = EndpointPool(try servers.map { try Endpoint("127.0.0.1:\($0.port)") }, policy: policy)
            var configuration = SessionConfiguration()
            configuration.endpoints["\(scheme)://fleet.example"] = pool
            configuration.eventMonitors = [events]
            try change(&configuration)
            session = Session(configuration: configuration)
        }

        var url: String { "\(scheme)://fleet.example/x" }
        var members: [EndpointBalance.Member] { session.endpoints?.all.first?.members ?? [] }
        var inFlight: Int { members.reduce(0) { $0 + $1.inFlight } }
        /// The ports of the endpoints that are ejected.
        var ejected: Set<Int> { Set(members.filter(\.health.isEjected).compactMap(\.endpoint.port)) }

        /// Waits until no request is in flight.
        func settle() async { while inFlight > 0, !Task.isCancelled { await Task.yield() } }
    }

    /// Returns servers that respond with the `Host` that they were asked for.
    private static func healthy(_ count: Int) throws -> [LoopbackServer] {
        try (0..<count).map { _ in try LoopbackServer.http { .text($0["Host"] ?? "") } }
    }

    /// Two servers fail, and one is silent until the end of the test.
    @Test(arguments: [EndpointPolicy.roundRobin, .leastRequests, .powerOfTwoChoices])
    func everyCallSucceedsAlthoughTwoServersFailAndOneIsHeld(_ policy: EndpointPolicy) async throws {
        let gate = LoopbackServer.Gate()
        let refusing = try LoopbackServer.http { _ in .init(503) }
        let resetting = try LoopbackServer { connection in
            _ = try connection.readHead()
            connection.reset()
        }
        let held = try LoopbackServer.http { _ in
            .init(
                body: .raw { connection in
                    try connection.wait(for: gate)
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                })
        }
        let fleet = try Fleet([refusing, resetting, held] + Self.healthy(7), policy) {
            $0.retry = RetryPolicy(budget: nil) { 0 }
            $0.steps.hedging = HedgingPolicy(after: .milliseconds(100), maximumExtraAttempts: 3, budget: nil)
            $0.endpoints["http://fleet.example"]?.ejection?.consecutiveFailures = 3
        }
        for _ in 0..<10 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        let text = try await fleet.session.string(fleet.url)
                        #expect(text == "fleet.example")
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(fleet.ejected.isSuperset(of: [refusing.port, resetting.port]))
        #expect(!fleet.servers.dropFirst(3).contains { fleet.ejected.contains($0.port) || $0.requests.isEmpty })
        gate.open()
        await fleet.settle()
        await fleet.session.shutdown()
    }

    @Test func aRetryGoesToAnotherServerAndTheErrorNamesTheLast() async throws {
        let closed = try (0..<3).map { _ in try ClosedPort() }
        var configuration = SessionConfiguration()
        configuration.endpoints["http://fleet.example"] = EndpointPool(
            try closed.map { try Endpoint("127.0.0.1:\($0.port)") }, policy: .sticky(by: EndpointKey { _ in "key" }))
        configuration.retry = RetryPolicy(budget: nil) { 0 }
        let events = ConnectionEvents()
        configuration.eventMonitors = [events]
        let session = Session(configuration: configuration)
        let error = await expectFailure([.connect]) { try await session.data("http://fleet.example/") }
        await session.shutdown()
        let tried = events.words.filter { $0.hasPrefix("connecting") }
        #expect(Set(tried) == Set(closed.map { "connecting 127.0.0.1:\($0.port)" }) && tried.count == 3)
        let last = try #require(tried.last?.dropFirst("connecting ".count))
        #expect(error?.description.contains("at the endpoint \(last)") == true)
    }

    // MARK: TLS and HTTP/2

    @Test func theCertificateAndTheNameAreTheOrigins() async throws {
        let tls = try LoopbackServer.TLS(names: ["fleet.example"])
        let servers = try (0..<2).map { _ in try LoopbackServer.https(tls: tls) { .text($0["Host"] ?? "") } }
        let fleet = try Fleet(servers, scheme: "https") {
            $0.tls = tls.authority.tlsConfiguration
            $0.engines = .one
        }
        for _ in 0..<4 { #expect(try await fleet.session.string(fleet.url) == "fleet.example") }
        #expect(servers.map(\.requests.count) == [2, 2] && servers.map(\.acceptedCount) == [1, 1])
        await fleet.session.shutdown()
    }

    @Test func aServerWithAnotherCertificateIsEjected() async throws {
        let tls = try LoopbackServer.TLS(names: ["other.example"])
        let server = try LoopbackServer.https(tls: tls) { _ in .text("wrong") }
        let right = try LoopbackServer.TLS(authority: tls.authority, names: ["fleet.example"])
        let other = try LoopbackServer.https(tls: right) { _ in .text("right") }
        let fleet = try Fleet([server, other], scheme: "https") {
            $0.tls = tls.authority.tlsConfiguration
            $0.endpoints["https://fleet.example"]?.ejection?.consecutiveFailures = 1
        }
        let error = await expectFailure([.untrusted]) { try await fleet.session.data(fleet.url) }
        #expect(error?.description.contains("at the endpoint 127.0.0.1:\(server.port)") == true)
        for _ in 0..<4 { #expect(try await fleet.session.string(fleet.url) == "right") }
        #expect(fleet.ejected == [server.port] && server.requests.isEmpty)
        await fleet.session.shutdown()
    }

    @Test func http2ConnectionsAreOfTheirEndpoint() async throws {
        let servers = try (0..<3).map { _ in try LoopbackServer.http2() }
        let fleet = try Fleet(servers) {
            $0.httpVersion = .http2PriorKnowledge
            $0.engines = .one
        }
        for _ in 0..<9 {
            let (_, response) = try await fleet.session.data(fleet.url)
            #expect(response.version == .http2)
        }
        #expect(servers.map(\.acceptedCount) == [1, 1, 1])
        await fleet.session.shutdown()
    }

    // MARK: The way

    @Test func aProxyMakesATunnelToTheEndpoint() async throws {
        let targets = Locked<[String]>([])
        let proxy = try LoopbackServer { connection in
            guard let head = try connection.readHead() else { return }
            targets.withLock { $0.append("\(head.method) \(head.target)") }
            try connection.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let fleet = try Fleet(Self.healthy(1)) { $0.proxy = .always(try Proxy("http://127.0.0.1:\(proxy.port)")) }
        await expectFailure([.proxy]) { try await fleet.session.data(fleet.url) }
        #expect(targets.withLock { $0 } == ["CONNECT 127.0.0.1:\(fleet.servers[0].port)"])
        #expect(fleet.inFlight == 0)
        await fleet.session.shutdown()
    }

    @Test func theEgressPolicyJudgesTheEndpoint() async throws {
        let server = try LoopbackServer { _ in Issue.record("a connection was made") }
        let fleet = try Fleet([server]) { $0.egress = .publicInternet }
        await expectFailure([.egressRefused]) { try await fleet.session.data(fleet.url) }
        #expect(fleet.ejected.isEmpty)
        await fleet.session.shutdown()
    }

    @Test func namesOfEndpointsAreAskedOfTheResolver() async throws {
        let server = try Self.healthy(1)[0]
        var configuration = server.sessionConfiguration()
        configuration.endpoints["http://fleet.example"] = EndpointPool([try Endpoint("node.example:\(server.port)")])
        let session = Session(configuration: configuration)
        #expect(try await session.string("http://fleet.example/") == "fleet.example")
        await session.shutdown()
    }

    // MARK: Sets

    /// A directory whose sets the test gives.
    private struct Directory: ServiceDiscovery {
        let sets: AsyncStream<[Endpoint]>
        let continuation: AsyncStream<[Endpoint]>.Continuation

        init() { (sets, continuation) = AsyncStream.makeStream(of: [Endpoint].self) }

        func endpoints(of origin: String) -> AsyncStream<[Endpoint]> { sets }

        func give(_ servers: [LoopbackServer]) throws {
            continuation.yield(try servers.map { try Endpoint("127.0.0.1:\($0.port)") })
        }
    }

    private func session(
        _ directory: Directory, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.endpoints["http://fleet.example"] = EndpointPool(discovery: directory, policy: .roundRobin)
        // A second engine, which is added on a busy machine, would have connections of its own.
        configuration.engines = .one
        change(&configuration)
        return Session(configuration: configuration)
    }

    /// The connection in use carries its response to the end, and no further request.
    @Test func connectionsToAServerThatLeftAreClosed() async throws {
        let rest = LoopbackServer.Gate()
        let handler: @Sendable (LoopbackServer.ReceivedRequest) -> LoopbackServer.Response = { request in
            guard request.path == "/slow" else { return .text("ok") }
            return .init(
                body: .raw { connection in
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
                    try connection.wait(for: rest)
                    try connection.write("cd")
                    _ = try connection.readHead()
                })
        }
        let servers = try (0..<2).map { _ in try LoopbackServer.http(handler) }
        let directory = Directory(), session = session(directory)
        try directory.give(servers)
        // An idle connection and one in use to each.
        let streams = [
            try await session.stream("http://fleet.example/slow"),
            try await session.stream("http://fleet.example/slow"),
        ]
        for _ in 0..<2 { #expect(try await session.string("http://fleet.example/") == "ok") }
        #expect(servers.map(\.acceptedCount) == [2, 2])
        try directory.give([servers[1]])
        try await servers[0].waitUntilClosed(count: 1)
        for _ in 0..<3 { #expect(try await session.string("http://fleet.example/") == "ok") }
        rest.open()
        for stream in streams {
            #expect(String(decoding: try await stream.chunks.collect(upTo: 100), as: UTF8.self) == "abcd")
        }
        try await servers[0].waitUntilAllClosed()
        #expect(servers[0].requests.count == 2 && servers[1].acceptedCount == 2)
        #expect(servers[1].openCount == 2 && session.endpointStates.map(\.endpoint.port) == [servers[1].port])
        await session.shutdown()
    }

    @Test func http2ConnectionsToAServerThatLeftAreClosed() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer.http2() }
        let directory = Directory()
        let session = session(directory) {
            $0.httpVersion = .http2PriorKnowledge
        }
        try directory.give(servers)
        for _ in 0..<4 { _ = try await session.data("http://fleet.example/") }
        try directory.give([servers[1]])
        try await servers[0].waitUntilAllClosed()
        _ = try await session.data("http://fleet.example/")
        #expect(servers.map(\.acceptedCount) == [1, 1] && servers[1].openCount == 1)
        await session.shutdown()
    }

    @Test func aServerThatReturnsGetsNewConnections() async throws {
        let servers = try Self.healthy(2)
        let directory = Directory(), session = session(directory)
        try directory.give(servers)
        for _ in 0..<2 { _ = try await session.data("http://fleet.example/") }
        try directory.give([servers[1]])
        try await servers[0].waitUntilAllClosed()
        try directory.give(servers)
        while session.endpointStates.count != 2, !Task.isCancelled { await Task.yield() }
        for _ in 0..<2 { _ = try await session.data("http://fleet.example/") }
        #expect(servers.map(\.acceptedCount) == [2, 1])
        await session.shutdown()
    }

    @Test func theAddressesOfANameAreEndpoints() async throws {
        let server = try LoopbackServer.http { .text($0["Host"] ?? "") }
        struct Names: NameResolver {
            func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
                guard name == "nodes.example" else { throw TrellisError(.connectionFailed(.nameResolution(name))) }
                return try ResolvedAddresses(["127.0.0.1"], timeToLive: .seconds(5))
            }
        }
        var configuration = SessionConfiguration()
        configuration.resolver = Names()
        configuration.endpoints["http://fleet.example"] = EndpointPool(
            addressesOf: "nodes.example", port: server.port)
        configuration.endpoints["http://lost.example"] = EndpointPool(addressesOf: "lost.example")
        let session = Session(configuration: configuration)
        #expect(try await session.string("http://fleet.example/") == "fleet.example")
        #expect(
            session.endpointStates.map { "\($0.origin) \($0.endpoint)" } == [
                "http://fleet.example 127.0.0.1:\(server.port)"
            ])
        let error = await expectFailure([.noEndpoint]) { try await session.data("http://lost.example/") }
        #expect((error?.underlying as? TrellisError)?.kind == .dns)
        await session.shutdown()
    }

    // MARK: Places

    @Test func streamsThatAreCancelledOrDroppedLeaveNoRequestInFlight() async throws {
        let server = try LoopbackServer.http { _ in
            .init(body: .chunked { body in while true { try body.write(String(repeating: "x", count: 1 << 16)) } })
        }
        let fleet = try Fleet([server])
        for number in 0..<6 {
            let stream = try await fleet.session.stream(fleet.url)
            #expect(fleet.inFlight > 0)
            if number % 3 == 0 { stream.cancel() }
            if number % 3 == 1 { for try await _ in stream.chunks { break } }
        }
        await fleet.settle()
        #expect(fleet.inFlight == 0)
        await fleet.session.shutdown()
    }
}
