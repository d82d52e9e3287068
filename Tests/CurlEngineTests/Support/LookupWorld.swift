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

    /// Returns the script of a server that does not respond before a gate is open.
    ///
    /// Of a name whose transfer ends before the lookup has the addresses of both kinds, libcurl 8.20 and later know nothing afterwards, and
    /// the next transfer looks it up again. A test of what is known opens the gate when the lookups are complete.
    static func responding(after gate: LoopbackServer.Gate) -> @Sendable (LoopbackServer.Connection) throws -> Void {
        { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: gate)
                try connection.write(hello)
            }
        }
    }

    /// Waits until a number of names were looked up, and lets the server respond.
    func open(_ gate: LoopbackServer.Gate, afterLookups count: Int) async {
        await names.untilAsked(count)
        await untilNoneRuns()
        gate.open()
    }

    func get(_ host: String, path: String = "/") throws -> TransferOptions {
        try EngineRun.get("http://\(host).lookup.test:\(server.port)\(path)")
    }

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
