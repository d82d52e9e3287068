#if Observability
import FoundationEssentials
import MetricsTestKit
import Testing
import Trellis
import TrellisObservability
import TrellisTesting

/// The metrics of connections over a socket.
@Suite(.timeLimit(.minutes(3)))
struct ConnectionMetricTests {
    @Test func aConnectionIsActiveThenIdleThenClosed() async throws {
        let backends = Backends()
        let (asked, response) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            asked.open()
            try connection.wait(for: response)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.readRequest()
        }
        let (session, url) = (Session.observed(nil), server.url("/"))
        async let bytes = backends { try await session.data(url).0 }
        try await asked.opened()
        await backends.wait(for: server, active: 1, idle: 0)
        #expect(backends.metrics.timers(label: "http.client.connection.duration").isEmpty)
        response.open()
        _ = try await bytes
        await backends.wait(for: server, active: 0, idle: 1)
        #expect(backends.metrics.timers(label: "http.client.connection.duration").isEmpty)
        await session.shutdown()
        await backends.wait(for: server, active: 0, idle: 0)
        let dimensions = [("server.address", "127.0.0.1"), ("server.port", "\(server.port)")]
        while backends.time("http.client.connection.duration", dimensions) == nil, !Task.isCancelled {
            await Task.yield()
        }
        #expect(backends.time("http.client.connection.duration", dimensions) ?? 0 > 0)
    }

    @Test func aReusedConnectionIsCountedOnce() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Session.observed(nil)
        for _ in 1...5 { _ = try await backends { try await session.data(server.url("/")) } }
        await backends.wait(for: server, active: 0, idle: 1)
        await session.shutdown()
        await backends.wait(for: server, active: 0, idle: 0)
        #expect(server.acceptedCount == 1)
    }

    /// A server that ends an idle connection is noticed without another request.
    @Test func aConnectionThatTheServerEndsIsNotOpen() async throws {
        let backends = Backends()
        let end = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.wait(for: end)
        }
        let session = Session.observed(nil)
        _ = try await backends { try await session.data(server.url("/")) }
        await backends.wait(for: server, active: 0, idle: 1)
        end.open()
        await backends.wait(for: server, active: 0, idle: 0)
    }

    @Test func serversBeyondTheirNumberShareASeries() async throws {
        let backends = Backends()
        let servers = try (1...3).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let session = Session.observed(nil, .with { $0.maximumServerCount = 1 })
        for server in servers { _ = try await backends { try await session.data(server.url("/")) } }
        await backends.wait(for: servers[0], active: 0, idle: 1)
        await backends.wait { backends.open(("_OTHER", ""), "idle") == 2 }
        let idle = backends.metrics.meters(label: "http.client.open_connections")
        #expect(Set(idle.compactMap { $0.dimensions.value(of: "server.address") }) == ["127.0.0.1", "_OTHER"])
        await session.shutdown()
        await backends.wait { backends.open(("_OTHER", ""), "idle") == 0 }
    }

    /// The values are those of one factory at a time.
    @Test func theFactoryOfTheLastRequestGetsTheConnections() async throws {
        let (first, second) = (Backends(), Backends())
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Session.observed(nil)
        _ = try await first { try await session.data(server.url("/")) }
        await first.wait(for: server, active: 0, idle: 1)
        _ = try await second { try await session.data(server.url("/")) }
        await second.wait(for: server, active: 0, idle: 1)
        await first.wait(for: server, active: 0, idle: 0)
    }

    @Test func connectionsAreNotObservedWithoutTheirMetrics() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { _ in .text("hello") }
        let metrics = Observability.MetricSet.all.subtracting([.openConnections, .connectionDuration])
        let session = Session.observed(nil, .with { $0.metrics = metrics })
        _ = try await backends { try await session.data(server.url("/")) }
        await session.shutdown()
        #expect(session.configuration.steps.exchangeObserver?.connectionObserver == nil)
        #expect(backends.metrics.meters(label: "http.client.open_connections").isEmpty)
    }
}

extension Backends {
    /// The number of open connections to a server, in a state; zero if there is no value.
    fileprivate func open(_ server: (address: String, port: String), _ state: String) -> Double {
        let dimensions = [
            ("server.address", server.address), ("server.port", server.port), ("http.connection.state", state),
        ]
        return (try? metrics.expectMeter("http.client.open_connections", dimensions).lastValue) ?? 0
    }

    fileprivate func wait(for condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    /// Waits until a number of connections to a server are in use, and a number are idle.
    fileprivate func wait(for server: LoopbackServer, active: Double, idle: Double) async {
        let address = (address: "127.0.0.1", port: "\(server.port)")
        await wait { open(address, "active") == active && open(address, "idle") == idle }
    }
}
#endif
