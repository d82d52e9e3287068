import Foundation
import Testing
import TrellisTesting

@testable import CurlEngine

/// A server of names, a server for all of them, and engines that share a bound.
struct LookupWorld: Sendable {
    let names: NameServer
    let server: LoopbackServer
    let configuration: EngineConfiguration
    let runs: [EngineRun]
    var limit: LookupLimit { configuration.lookups }

    static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    init(
        engines: Int = 1,
        _ serve: @escaping @Sendable (LoopbackServer.Connection) throws -> Void = { connection in
            while try connection.nextRequest() != nil { try connection.write(LookupWorld.hello) }
        }
    ) async throws {
        names = try NameServer()
        server = try LoopbackServer(script: serve)
        let configuration = EngineConfiguration()
        self.configuration = configuration
        runs = (0..<engines).map { _ in EngineRun(configuration) }
        for run in runs {
            let failure = await run.onEngine { () -> String? in
                do { try NameServer.use() } catch { return "\(error)" }
                return nil
            }
            expectInProcess(failure == nil, "a namespace: \(failure ?? "")")
        }
    }

    func get(_ host: String, path: String = "/") throws -> TransferOptions {
        try EngineRun.get("http://\(host).lookup.test:\(server.port)\(path)")
    }

    /// Returns a request for which the addresses of one kind are looked up.
    func getOverIPv4(_ host: String) throws -> TransferOptions {
        let options = try get(host)
        return TransferOptions(
            url: options.url, route: Self.overIPv4, method: options.method, version: options.version,
            mayBeReplayed: options.mayBeReplayed)
    }

    private static let overIPv4: TransferRoute = {
        var parts = TransferRoute.Parts()
        parts.family = .ipv4
        return TransferRoute(parts)
    }()

    /// Waits until no lookup has a turn: an engine that ends returns its turns a moment after its end.
    func untilNoneRuns() async { while limit.runningCount > 0, !Task.isCancelled { await Task.yield() } }

    /// Waits until a number of transfers wait for lookups, on all engines together.
    func untilWaiting(_ count: Int) async {
        while await waitingCount != count, !Task.isCancelled { await Task.yield() }
    }

    private var waitingCount: Int {
        get async {
            var count = 0
            for run in runs { count += await run.onEngine { run.engine.lookups.waitingCount } }
            return count
        }
    }

    func finish() async {
        for run in runs { await run.finish() }
        server.stop()
    }
}
