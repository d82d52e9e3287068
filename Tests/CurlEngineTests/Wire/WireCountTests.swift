import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// The engine tells the numbers of its own connections by queue, and its pools have the names of the queues.
@Suite(.timeLimit(.minutes(3)))
struct WireCountTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    /// An engine whose numbers are kept as it tells them.
    private struct World {
        let run = EngineRun()
        private let counts = Locked<[[String: ConnectionCount]?]>([])

        init() async {
            await run.onEngine { [run, counts] in
                run.engine.onCount { change in counts.withLock { $0.append(change) } }
            }
        }

        func get(_ url: String, _ route: TransferRoute = .direct) async throws -> EngineRun.Outcome {
            let url = try WireURL(parsing: url)
            return await run.perform(
                TransferOptions(url: url, route: route, method: "GET", version: .http1, mayBeReplayed: true))
        }

        /// Returns the numbers that were told since the last call, as far as they were told by now.
        func told() async -> [[String: Int]?] {
            await run.onEngine {}
            return counts.withLock { counts in
                defer { counts = [] }
                return counts.map { $0?.mapValues(\.connections) }
            }
        }

        /// Waits until these are the numbers that were told last.
        func untilTold(_ numbers: [String: Int]) async {
            while counts.withLock({ $0.last })??.mapValues(\.connections) != numbers, !Task.isCancelled {
                await Task.yield()
            }
            counts.withLock { $0 = [] }
        }
    }

    private static func server() throws -> LoopbackServer {
        try LoopbackServer { connection in
            while try connection.nextRequest() != nil { try connection.write(good) }
        }
    }

    @Test func aConnectionCountsFromItsBeginningToItsEnd() async throws {
        let server = try Self.server(), world = await World()
        let queue = try WireURL(parsing: server.url("/")).origin
        #expect(try await world.get(server.url("/")).text == "good")
        #expect(await world.told().allSatisfy { $0 == [queue: 1] })
        // A request on the same connection changes no number.
        #expect(try await world.get(server.url("/")).text == "good")
        #expect(await world.told().isEmpty)
        await world.run.onEngine { [run = world.run] in run.engine.closeIdleConnections(to: queue) }
        await world.untilTold([queue: 0])
        await world.run.finish()
    }

    @Test func aConnectionThatWasNotMadeDoesNotCount() async throws {
        let world = await World(), url = try ClosedPort().url()
        #expect(try await world.get(url).end?.failure?.kind == .connect)
        await world.untilTold([try WireURL(parsing: url).origin: 0])
        await world.run.finish()
    }

    @Test func theEndOfAnIdleConnectionIsTold() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
        }
        let world = await World()
        #expect(try await world.get(server.url("/")).text == "good")
        while await world.run.onEngine({ [run = world.run] in run.engine.openSocketCount }) > 0, !Task.isCancelled {
            await Task.yield()
        }
        await world.untilTold([try WireURL(parsing: server.url("/")).origin: 0])
        await world.run.finish()
    }

    /// A connection to a proxy that makes no tunnel carries requests for any origin.
    @Test func aConnectionToAProxyCountsForTheLastRequest() async throws {
        let server = try Self.server(), world = await World()
        var parts = TransferRoute.Parts()
        parts.proxy = EngineConfiguration.ProxyServer(
            scheme: .http, host: "127.0.0.1", port: UInt16(server.port), credentials: nil)
        let route = TransferRoute(parts)
        let names = try ["http://one.invalid/", "http://two.invalid/"].map {
            route.limitName(of: try WireURL(parsing: $0).origin)
        }
        #expect(try await world.get("http://one.invalid/", route).text == "good")
        await world.untilTold([names[0]: 1])
        #expect(try await world.get("http://two.invalid/", route).text == "good")
        await world.untilTold([names[0]: 0, names[1]: 1])
        await world.run.finish()
    }

    // MARK: Names

    private static func options(
        _ url: String, _ version: TransferOptions.Version, _ route: TransferRoute = .direct, trust: Int = 0
    ) throws -> TransferOptions {
        var rules = TransferTrust.Rules()
        if trust > 0 { rules.authorities = .unverified }
        return TransferOptions(
            url: try WireURL(parsing: url), route: route,
            trust: TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: trust), method: "GET",
            version: version)
    }

    /// Without TLS, HTTP/1.1 is spoken whether it is demanded or not.
    @Test func aPoolHasTheNameOfItsQueue() throws {
        let plain = try Self.options("http://a.test/", .http1)
        #expect(plain.queue == plain.url.origin && plain.wirePool == plain.queue)
        #expect(try Self.options("http://a.test/", .http2OverTLS).queue == plain.queue)
        let secure = try Self.options("https://a.test/", .http1)
        #expect(secure.queue == "\(secure.url.origin) HTTP/1.1" && secure.wirePool == secure.queue)
        #expect(try Self.options("https://a.test/", .http2OverTLS).queue == secure.url.origin)
        #expect(try Self.options("http://a.test/", .http2PriorKnowledge).queue == "\(plain.url.origin) HTTP/2")
    }

    @Test func connectionsWithDifferentIdentitiesAreNotShared() throws {
        let route = TransferRoute(TransferRoute.Parts())
        let all = try [
            Self.options("https://a.test/", .http1), Self.options("https://a.test/", .http1, trust: 1),
            Self.options("https://a.test/", .http1, trust: 2), Self.options("https://a.test/", .http1, route),
            Self.options("https://a.test/", .http1, route, trust: 1),
        ]
        #expect(Set(all.map(\.queue)).count == all.count)
        #expect(all.map(\.wirePool) == all.map(\.queue))
        // The addresses of a server share its limits, and no connection.
        let one = try Self.options("https://a.test/", .http1, TransferRoute(TransferRoute.Parts(), of: route))
        #expect(one.queue == all[3].queue && one.wirePool.hasPrefix(one.queue + "|address-"))
    }
}
