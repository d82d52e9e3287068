import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The failures of proxies that later requests are told of.
@Suite(.timeLimit(.minutes(1)))
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

    /// A proxy that has failed before stays the last one, also if nothing works later.
    @Test func anEarlierFailureIsNotForgotten() async throws {
        let gone = try LoopbackServer { _ in }
        gone.stop()
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
