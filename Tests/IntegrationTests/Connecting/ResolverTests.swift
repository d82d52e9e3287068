import Foundation
import Testing
import Trellis
import TrellisTesting

@testable import CurlEngine

/// A session asks its resolver for the addresses of names.
@Suite(.timeLimit(.minutes(3)))
struct ResolverTests {
    /// A resolver that returns what a closure returns, and records the names.
    private final class Recorded: NameResolver {
        private let names = Locked<[String]>([])
        private let answer: @Sendable (String) async throws -> ResolvedAddresses
        var asked: [String] { names.withLock { $0 } }

        init(_ answer: @escaping @Sendable (String) async throws -> ResolvedAddresses) { self.answer = answer }

        convenience init(_ address: String, for duration: Duration = .seconds(60)) {
            self.init { _ in try ResolvedAddresses([address], timeToLive: duration) }
        }

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            names.withLock { $0.append(name) }
            return try await answer(name)
        }
    }

    private struct Broken: Error, CustomStringConvertible {
        var description: String { "the directory is closed" }
    }

    private static func session(
        _ resolver: any NameResolver, clock: TestClock? = nil,
        _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        try change(&configuration)
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    @Test func theAddressesAreUsedAndKept() async throws {
        let server = try LoopbackServer.http { .text($0["Host"] ?? "") }
        let resolver = Recorded("127.0.0.1")
        let session = try Self.session(resolver)
        for host in ["A.far.invalid", "a.far.invalid", "b.far.invalid"] {
            let (data, response) = try await session.data("http://\(host):\(server.port)/")
            #expect(String(decoding: data, as: UTF8.self).lowercased() == "\(host.lowercased()):\(server.port)")
            #expect(response.metrics.peerAddress?.hasPrefix("127.0.0.1") == true)
        }
        #expect(resolver.asked == ["a.far.invalid", "b.far.invalid"])
        #expect(server.acceptedCount == 2)
        await session.shutdown()
    }

    @Test func requestsAtOnceAskOnce() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let resolver = Recorded { _ in
            for _ in 0..<50 { await Task.yield() }
            return try ResolvedAddresses(["127.0.0.1"], timeToLive: .seconds(60))
        }
        let session = try Self.session(resolver)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await session.data("http://a.invalid:\(server.port)/") } }
            try await group.waitForAll()
        }
        #expect(resolver.asked.count < 50)
        await session.shutdown()
    }

    /// New connections go to the new addresses; a connection to an old one stays usable.
    @Test func newConnectionsGoToNewAddresses() async throws {
        let four = try LoopbackServer { connection in
            // Closes each connection after a response, so that the next request needs another one.
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfour")
        }
        let address = Locked("127.0.0.1")
        let resolver = Recorded { _ in
            try ResolvedAddresses([address.withLock { $0 }], timeToLive: .zero)
        }
        let session = try Self.session(resolver)
        let url = "http://a.invalid:\(four.port)/"
        #expect(try await session.string(url) == "four")
        address.withLock { $0 = "127.0.0.9" }
        await expectFailure([.connect]) { try await session.data(url) }
        address.withLock { $0 = "127.0.0.1" }
        #expect(try await session.string(url) == "four")
        #expect(resolver.asked.count == 3)
        await session.shutdown()
    }

    @Test func aConnectionOutlivesItsAddresses() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let address = Locked("127.0.0.1")
        let session = try Self.session(
            Recorded { _ in try ResolvedAddresses([address.withLock { $0 }], timeToLive: .zero) })
        _ = try await session.data("http://a.invalid:\(server.port)/")
        address.withLock { $0 = "127.0.0.9" }
        _ = try await session.data("http://a.invalid:\(server.port)/")
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    @Test func addressesOutliveTheConnectionsThatAnEngineLeaves() async throws {
        let server = try LoopbackServer { connection in
            while let head = try connection.readHead() {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                // The client leaves in the middle of this body.
                if head.target == "/held" { while !(try connection.read().isEmpty) {} }
                try connection.write("whole")
            }
        }
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(1)
        configuration.route.addresses = try StaticAddresses("fixed.invalid:*:127.0.0.1")
        let session = Session(configuration: configuration)
        let url = "http://fixed.invalid:\(server.port)"
        let held = try await session.stream("\(url)/held")
        #expect(try await session.string("\(url)/idle") == "whole")
        let executor = try #require(session.executors.first as? EngineExecutor)
        await withContinuation { continuation in
            executor.submit {
                executor.engineLoop.giveUpIdleConnections()
                continuation.resume()
            }
        }
        #expect(try await session.string("\(url)/again") == "whole")
        withExtendedLifetime(held) {}
        await session.shutdown()
    }

    @Test func literalsAndSocketsAskNothing() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let path = try temporaryFolder("resolver") + "/socket"
        let local = try LoopbackServer.http(on: .unix(path: path)) { _ in .text("ok") }
        let resolver = Recorded { _ in throw Broken() }
        let session = try Self.session(resolver) {
            $0.route.addresses = try StaticAddresses("fixed.invalid:*:127.0.0.1")
        }
        for host in ["127.0.0.1", "localhost", "a.localhost", "fixed.invalid"] {
            _ = try await session.data("http://\(host):\(server.port)/")
        }
        _ = try await session.data(Request("http://a.invalid/").withRoute(try .unixSocket(path)))
        #expect(resolver.asked.isEmpty && local.acceptedCount == 1)
        await session.shutdown()
    }

    /// Requests to the same name from different own addresses have connections of their own.
    @Test func sourcesKeepTheirConnections() async throws {
        let server = try LoopbackServer { connection in
            while try connection.readHead() != nil {
                let text = connection.peerAddress
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            }
        }
        let session = try Self.session(Recorded("127.0.0.1"))
        var route = Route()
        route.source = try .address("127.0.0.2")
        let request = Request("http://a.invalid:\(server.port)/")
        for _ in 1...2 {
            #expect(try await session.string(request.withRoute(route)) == "127.0.0.2")
            #expect(try await session.string(request) == "127.0.0.1")
        }
        #expect(server.acceptedCount == 2)
        await session.shutdown()
    }

    @Test func theOtherHostIsAsked() async throws {
        let server = try LoopbackServer.http { .text($0["Host"] ?? "") }
        let resolver = Recorded("127.0.0.1")
        let session = try Self.session(resolver) {
            $0.route.connectTo = [try ConnectTo("a.invalid::b.invalid:\(server.port)")]
        }
        #expect(try await session.string("http://a.invalid/") == "a.invalid")
        #expect(resolver.asked == ["b.invalid"])
        await session.shutdown()
    }

    @Test func proxiesLookUpTheirServers() async throws {
        let proxy = try LoopbackServer.http { .text($0.target) }
        let resolver = Recorded("127.0.0.1")
        let session = try Self.session(resolver) {
            $0.proxy = .always(try Proxy("http://proxy.invalid:\(proxy.port)"))
        }
        #expect(try await session.string("http://far.invalid/") == "http://far.invalid/")
        #expect(resolver.asked == ["proxy.invalid"])
        await session.shutdown()
    }

    @Test func aSOCKSProxyGetsTheFoundAddress() async throws {
        let connects = SOCKSPeer.Recorder()
        let proxy = try SOCKSPeer.start(connects: connects)
        let session = try Self.session(Recorded("192.0.2.7")) {
            $0.proxy = .always(try Proxy("socks5://127.0.0.1:\(proxy.port)"))
        }
        _ = try await session.data("http://far.invalid/")
        #expect(connects.all.map(\.host) == ["192.0.2.7"])
        await session.shutdown()
    }

    // MARK: Failures

    @Test func theErrorOfTheResolverIsTold() async throws {
        let resolver = Recorded { _ in throw Broken() }
        let session = try Self.session(resolver)
        for _ in 1...2 {
            let error = await expectFailure([.dns]) { try await session.data("http://a.invalid/") }
            #expect(error?.underlying is Broken && error?.isRetryable == true && error?.mayHaveSentBytes == false)
            #expect(error?.isConnectionFailure == true && error?.method == .get)
            let text = "GET http://a.invalid/: the host name could not be resolved: a.invalid: the directory is closed"
            #expect(error?.description == text)
        }
        #expect(resolver.asked.count == 2)
        await session.shutdown()
    }

    @Test func theNameOfAProxyIsItsFailure() async throws {
        let session = try Self.session(Recorded { _ in throw Broken() }) {
            $0.proxy = .always(try Proxy("http://proxy.invalid:3128"))
        }
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.underlying is Broken)
        #expect(error?.description.contains("proxy.invalid:3128") == true)
        await session.shutdown()
    }

    @Test func noAddressIsAnError() async throws {
        let session = try Self.session(Recorded { _ in try ResolvedAddresses([], timeToLive: .seconds(1)) })
        await expectFailure([.dns]) { try await session.data("http://a.invalid/") }
        await session.shutdown()
    }

    @Test func aRetryAsksAgain() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let isOpen = Locked(false)
        let resolver = Recorded { _ in
            let wasOpen = isOpen.withLock { isOpen in
                defer { isOpen = true }
                return isOpen
            }
            guard wasOpen else { throw Broken() }
            return try ResolvedAddresses(["127.0.0.1"], timeToLive: .seconds(60))
        }
        let session = try Self.session(resolver) {
            $0.steps.retriers = [RetryPolicy(retryLimit: 1, exponentialBackoffScale: .zero)]
        }
        #expect(try await session.string("http://a.invalid:\(server.port)/") == "ok")
        #expect(resolver.asked.count == 2)
        await session.shutdown()
    }

    // MARK: Time

    /// Returns a resolver that never answers.
    private static func silent(_ asked: LoopbackServer.Gate, _ cancelled: LoopbackServer.Gate) -> Recorded {
        Recorded { _ in
            asked.open()
            let (silence, end) = AsyncStream<Void>.makeStream()
            for await _ in silence {}
            withExtendedLifetime(end) {}
            if Task.isCancelled { cancelled.open() }
            return try ResolvedAddresses([], timeToLive: .zero)
        }
    }

    /// The kinds of limits, and the errors.
    @Test(arguments: [
        (Timeouts(connect: .seconds(10)), TrellisError.Kind.connectTimeout),
        (Timeouts(connect: .seconds(30), total: .seconds(10)), .totalTimeout),
    ])
    func aResolverIsNotAwaitedForLonger(_ timeouts: Timeouts, _ kind: TrellisError.Kind) async throws {
        let asked = LoopbackServer.Gate(), cancelled = LoopbackServer.Gate(), clock = TestClock()
        let session = try Self.session(Self.silent(asked, cancelled), clock: clock)
        let request = Request("http://a.invalid/").withTimeouts(timeouts)
        let error = try await expectTimeout([kind], after: .seconds(10), on: clock, in: session, once: asked) {
            try await session.data(request)
        }
        #expect(error?.mayHaveSentBytes == false)
        try await cancelled.opened()
        await session.shutdown()
    }

    @Test func aCancelledRequestLeavesTheResolver() async throws {
        let asked = LoopbackServer.Gate(), cancelled = LoopbackServer.Gate()
        let session = try Self.session(Self.silent(asked, cancelled))
        let task = Task { try await session.data("http://a.invalid/") }
        try await asked.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await cancelled.opened()
        await session.shutdown()
    }

    // MARK: The system's resolver

    @Test func theSystemIsAResolver() async throws {
        let resolver = SystemNameResolver()
        #expect(try await resolver.addresses(of: "localhost", family: .ipv4).addresses == ["127.0.0.1"])
        await expectFailure([.dns]) {
            try await resolver.addresses(of: String(repeating: "a", count: 64) + ".invalid", family: .any)
        }
    }
}
