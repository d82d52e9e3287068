import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// The failures of proxies that later requests are told of.
@Suite(.timeLimit(.minutes(3)))
struct ProxyCoolDownTests {
    /// If no connection can be made at all, here because of the request's own source, later requests do not go past the proxy.
    @Test func aFailureOfEverythingIsNotThatOfTheProxy() async throws {
        let proxy = try LoopbackServer.http { _ in .text("proxy") }
        let server = try LoopbackServer.http { _ in .text("server") }
        var configuration = SessionConfiguration()
        configuration.proxy = .always([try Proxy(proxy.url()), .direct])
        let session = Session(configuration: configuration)
        var route = Route()
        route.source = try .address("192.0.2.77")
        let request = Request(server.url()).withRoute(route)
        await expectFailure([.connect]) { try await session.data(request) }
        let text = try await session.string(server.url())
        #expect(text == "proxy")
        await session.shutdown()
    }

    /// The time of the call ends while the direct connection is being made, which shows no more: the next request tries the proxy first.
    @Test(arguments: [false, true]) func aDeadlineOnTheDirectConnection(_ hasSteps: Bool) async throws {
        let gone = try ClosedPort()
        let server = try LoopbackServer.http { _ in .text("server") }
        let hello = LoopbackServer.Gate()
        let silent = try LoopbackServer { connection in
            _ = try connection.read(upTo: 1)
            hello.open()
            connection.waitUntilPeerCloses()
        }
        let decisions = ProxyDecisions()
        let proxy = "http://127.0.0.1:\(gone.port)"
        var configuration = SessionConfiguration()
        configuration.proxy = .always([try Proxy(proxy), .direct])
        configuration.eventMonitors = [decisions]
        if hasSteps { configuration.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        let clock = TestClock(), session = Session(configuration: configuration, clock: clock)
        // The handshake of TLS does not end.
        let request = Request("https://127.0.0.1:\(silent.port)/", method: .post)
        let hasty = request.withTimeouts(Timeouts(total: .seconds(5)))
        async let failure = expectFailure([.totalTimeout]) { try await session.data(hasty) }
        // Before, libcurl reads the system's authorities.
        try await hello.opened()
        await session.settle()
        clock.move(by: .seconds(5))
        let error = await failure
        #expect(error?.mayHaveSentBytes == false, "\(error as Any) \(error?.phase as Any)")
        // The first two are the decisions of the call that has failed. It may have returned before its end was noted.
        let first = "proxy \(proxy): from the configuration"
        while !decisions.all.dropFirst(2).contains(first) {
            let text = try await session.string(server.url())
            #expect(text == "server")
        }
        await session.shutdown()
        #expect(
            decisions.all.prefix(2) == [first, "no proxy: from the configuration; the one before has failed"])
    }

    /// A proxy that has failed before stays the last one, also if nothing works later.
    @Test func anEarlierFailureIsNotForgotten() async throws {
        let gone = try ClosedPort()
        let server = try LoopbackServer.http { _ in .text("server") }
        let decisions = ProxyDecisions()
        var configuration = SessionConfiguration()
        configuration.proxy = .always([try Proxy("http://127.0.0.1:\(gone.port)"), .direct])
        configuration.eventMonitors = [decisions]
        let session = Session(configuration: configuration)
        for _ in 1...2 { #expect(try await session.string(server.url()) == "server") }
        await expectFailure([.connect, .proxy]) { try await session.data("http://127.0.0.1:\(gone.port)/") }
        let text = try await session.string(server.url())
        #expect(text == "server")
        await session.shutdown()
        let last = "no proxy: from the configuration; others have failed lately"
        #expect(decisions.all.last == last && decisions.all.filter { $0 == last }.count == 3)
    }
}
