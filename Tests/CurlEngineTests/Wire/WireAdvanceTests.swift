import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// Connections that are made before the requests that use them.
@Suite(.timeLimit(.minutes(3)))
struct WireAdvanceTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    /// A server that answers each request with a text, and an engine that trusts it.
    private struct World {
        let server: LoopbackServer
        let run: EngineRun
        private let trust: TransferTrust

        init(isSecure: Bool = false) throws {
            let tls = isSecure ? try LoopbackServer.TLS() : nil
            server = try LoopbackServer(tls: tls) { connection in
                while try connection.nextRequest() != nil { try connection.write(good) }
            }
            run = EngineRun()
            var rules = TransferTrust.Rules()
            if let tls { rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false) }
            trust = TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: tls == nil ? 0 : 1)
        }

        func options(upTo count: Int? = nil, readsCertificates: Bool = false) throws -> TransferOptions {
            TransferOptions(
                url: try WireURL(parsing: server.url("/")), trust: trust, method: "GET", version: .http1,
                mayBeReplayed: true, readsCertificates: readsCertificates, connectionCount: count)
        }

        /// Starts transfers at once that open connections up to a number. Returns their failures.
        func connect(_ transfers: Int, upTo count: Int) async throws -> [EngineFailure] {
            let options = try options(upTo: count)
            return await withTaskGroup { group in
                for _ in 0..<transfers { group.addTask { await run.perform(options).end?.failure } }
                return await group.reduce(into: []) { if let failure = $1 { $0.append(failure) } }
            }
        }

        var counts: (open: Int, idle: Int) {
            get async { await run.onEngine { [run] in (run.engine.wire.openCount, run.engine.wire.idleCount) } }
        }
    }

    @Test(arguments: [false, true])
    func asManyConnectionsAreOpenedAsAreMissing(_ isSecure: Bool) async throws {
        let world = try World(isSecure: isSecure)
        #expect(try await world.connect(3, upTo: 3).isEmpty)
        #expect(await world.counts == (3, 3))
        #expect(try await world.connect(4, upTo: 4).isEmpty)
        #expect(await world.counts == (4, 4))
        #expect(try await world.connect(2, upTo: 2).isEmpty)
        #expect(await world.counts == (4, 4))
        try await world.server.waitUntilAccepted(count: 4)
        #expect(world.server.acceptedCount == 4 && world.server.requests.isEmpty)
        await world.run.finish()
    }

    @Test(arguments: [false, true])
    func requestsUseTheConnections(_ isSecure: Bool) async throws {
        let world = try World(isSecure: isSecure)
        #expect(try await world.connect(1, upTo: 1).isEmpty)
        for _ in 0..<3 {
            let outcome = await world.run.perform(try world.options())
            #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == true)
        }
        #expect(world.server.acceptedCount == 1 && world.server.requests.count == 3)
        await world.run.finish()
        try await world.server.waitUntilAllClosed()
    }

    @Test func theCertificatesAreReadBeforeTheFirstRequest() async throws {
        let world = try World(isSecure: true)
        #expect(try await world.connect(1, upTo: 1).isEmpty)
        let outcome = await world.run.perform(try world.options(readsCertificates: true))
        #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == true)
        await world.run.finish()
    }

    @Test(arguments: [false, true])
    func aConnectionThatTheServerEndsIsClosed(_ isSecure: Bool) async throws {
        let server = try LoopbackServer(tls: isSecure ? LoopbackServer.TLS() : nil) { connection in
            connection.shutdownWrite()
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        var rules = TransferTrust.Rules()
        rules.authorities = .unverified
        let options = TransferOptions(
            url: try WireURL(parsing: server.url("/")),
            trust: TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: 1), method: "GET",
            version: .http1, connectionCount: 1)
        #expect(await run.perform(options).end?.failure == nil)
        while await run.onEngine({ run.engine.openSocketCount }) > 0, !Task.isCancelled { await Task.yield() }
        await run.finish()
    }

    @Test func aFailureIsReported() async throws {
        let world = try World()
        let options = TransferOptions(
            url: try WireURL(parsing: ClosedPort().url()), method: "GET", version: .http1, mayBeReplayed: true,
            connectionCount: 2)
        #expect(await world.run.perform(options).end?.failure?.kind == .connect)
        #expect(await world.counts == (0, 0))
        await world.run.finish()
    }

    @Test func whatLibcurlSendsCannotBeConnectedInAdvance() async throws {
        let run = EngineRun()
        let options = TransferOptions(
            url: try WireURL(parsing: "https://127.0.0.1:9/"), method: "GET", version: .http3Only,
            connectionCount: 1)
        #expect(await run.perform(options).end?.failure?.kind == .unsupported)
        await run.finish()
    }

    /// Otherwise a request would be sent.
    @Test func theSettingsWithoutAnExpectationConnectInAdvanceToo() throws {
        let options = TransferOptions(url: try WireURL(parsing: "http://a/"), method: "GET", connectionCount: 2)
        #expect(options.withoutExpectation.connectionCount == 2)
    }
}
