import FoundationEssentials
import Glibc
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// Requests that prefer HTTP/3 go over TCP where UDP is silent or refused, and over libcurls without HTTP/3.
@Suite(.timeLimit(.minutes(3)))
struct HTTP3RaceTests {
    /// A socket at which datagrams arrive, and which says nothing.
    private final class SilentSocket: Sendable {
        let descriptor: Int32

        init(port: UInt16) throws {
            let kind = SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
            descriptor = socket(AF_INET, Int32(kind), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            let result = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result != 0 { throw InUse() }
        }

        deinit { close(descriptor) }

        /// Another program has the port.
        struct InUse: Error {}

        /// Receives all datagrams that have arrived. Returns their number.
        func receive() -> Int {
            var buffer = [UInt8](repeating: 0, count: 2048)
            var count = 0
            while unsafe recv(descriptor, &buffer, buffer.count, 0) >= 0 { count += 1 }
            return count
        }
    }

    private struct World {
        let server: LoopbackServer
        let run = EngineRun()
        let trust: TransferTrust

        /// - Parameter answers: Whether the server answers requests.
        init(answers: Bool = true) throws {
            let tls = try LoopbackServer.TLS()
            server = try LoopbackServer(tls: tls) { connection in
                while try connection.nextRequest() != nil {
                    guard answers else { return connection.waitUntilPeerCloses() }
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
                }
            }
            var rules = TransferTrust.Rules()
            rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false)
            trust = TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: 1)
        }

        /// Returns a world, and a socket for the datagrams to the port of its server. Another program may have a port for datagrams.
        static func silent(answers: Bool = true) throws -> (World, SilentSocket) {
            for _ in 0..<20 {
                let world = try World(answers: answers)
                if let socket = try? SilentSocket(port: UInt16(world.server.port)) { return (world, socket) }
            }
            throw SilentSocket.InUse()
        }

        func options(_ method: String = "GET", port: Int? = nil) throws -> TransferOptions {
            TransferOptions(
                url: try WireURL(parsing: "https://127.0.0.1:\(port ?? Int(server.port))/"), trust: trust,
                method: method, version: .http3WithFallback)
        }

        var record: HTTP3Records.Record? {
            get async throws {
                let pool = try options().pool
                return await run.onEngine { [run] in
                    run.engine.http3Races.records.record(of: pool, now: run.executor.engineLoop.systemNow)
                }
            }
        }

        /// Waits until no transfer is under way.
        func untilIdle() async {
            while await run.onEngine({ [run] in run.engine.isBusy }), !Task.isCancelled { await Task.yield() }
        }

        func finish() async throws {
            await run.finish()
            try await server.waitUntilAllClosed()
        }
    }

    @Test(.enabled(if: LibcurlFeatures.current.hasHTTP3, "needs HTTP/3"))
    func silenceIsFollowedByTCPAndRemembered() async throws {
        let (world, silent) = try World.silent()
        let first = await world.run.perform(try world.options("POST"))
        #expect(first.text == "good" && first.head?.version == .http1_1 && first.end?.failure == nil)
        #expect(silent.receive() > 0)
        // Also after the attempt has ended, and its connections.
        await world.run.onEngine { [run = world.run] in run.engine.closeIdleConnections(to: nil) }
        guard case .lost? = try await world.record else {
            Issue.record("not remembered")
            return
        }
        // What the attempt has sent at its end is none of the second one.
        while await world.run.onEngine({ [run = world.run] in run.engine.openSocketCount }) > 0, !Task.isCancelled {
            await Task.yield()
        }
        _ = silent.receive()
        let second = await world.run.perform(try world.options("POST"))
        #expect(second.text == "good" && second.end?.failure == nil)
        #expect(silent.receive() == 0)
        #expect(world.server.requests.count == 2)
        // The probe leaves nothing behind.
        while await world.run.onEngine({ [run = world.run] in run.engine.openSocketCount }) > 1, !Task.isCancelled {
            await Task.yield()
        }
        try await world.finish()
    }

    @Test func aRefusalIsFollowedByTCP() async throws {
        let world = try World()
        for _ in 1...2 {
            let outcome = await world.run.perform(try world.options())
            #expect(outcome.text == "good" && outcome.end?.failure == nil)
        }
        #expect(world.server.acceptedCount == 1)
        try await world.finish()
    }

    @Test func manyRequestsShareARace() async throws {
        let world = try World()
        let options = try world.options()
        let texts = await withTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { await world.run.perform(options).text } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "good", count: 20))
        #expect(world.server.requests.count == 20)
        await world.untilIdle()
        try await world.finish()
    }

    @Test func aServerThatIsNotThereIsAFailureToConnect() async throws {
        let world = try World()
        let outcome = await world.run.perform(try world.options(port: ClosedPort().port))
        #expect(outcome.end?.failure?.kind == .connect)
        try await world.finish()
    }

    @Test(.enabled(if: LibcurlFeatures.current.hasHTTP3, "needs HTTP/3"))
    func cancellingARaceLeavesNothing() async throws {
        let (world, silent) = try World.silent(answers: false)
        let outcome = try await racing(in: world, silent)
        await world.run.onEngine {
            outcome.transfer?.cancel()
            outcome.transfer = nil
        }
        await world.untilIdle()
        #expect(outcome.end == nil)
        try await world.finish()
    }

    /// Starts a request, and waits until the probe has sent a packet to a socket that does not answer.
    private func racing(in world: World, _ silent: SilentSocket) async throws -> EngineRun.Outcome {
        let (options, outcome) = (try world.options(), EngineRun.Outcome())
        await world.run.onEngine { [run = world.run] in run.start(options, outcome) }
        while silent.receive() == 0, !Task.isCancelled { await Task.yield() }
        return outcome
    }

    /// A request that comes when another one of the race has gone over TCP does not wait for HTTP/3.
    @Test(.enabled(if: LibcurlFeatures.current.hasHTTP3, "needs HTTP/3"))
    func aLostRaceHoldsUpNoFurtherRequest() async throws {
        let (world, silent) = try World.silent()
        let first = try await racing(in: world, silent)
        let (options, second) = (try world.options(), EngineRun.Outcome())
        let transfer = await world.run.onEngine { [run = world.run] in
            first.transfer?.connection.http3.race?.isLost = true
            run.start(options, second)
            return second.transfer
        }
        await world.untilIdle()
        #expect(second.text == "good")
        #expect(await world.run.onEngine { transfer?.connection.http3.raceCount } == 0)
        try await world.finish()
    }

    @Test(.enabled(if: LibcurlFeatures.current.hasHTTP3, "needs HTTP/3"))
    func cancellingInTheTurnOfTheProbesEndLeavesNothing() async throws {
        let (world, silent) = try World.silent(answers: false)
        let outcome = try await racing(in: world, silent)
        let isWaiting = await world.run.onEngine { [run = world.run] in
            guard let transfer = outcome.transfer else { return true }
            // On a busy machine, the request may have gone over TCP, where it gets no answer.
            guard let race = transfer.connection.http3.race, case .ahead = transfer.connection.http3.way else {
                transfer.cancel()
                return false
            }
            let probe = race.probe
            transfer.cancel()
            race.transferDidEnd(TransferEnd(failure: nil, trailers: WireFields(), report: TransferReport()))
            probe?.cancel()
            return run.engine.wire.waiting.contains(transfer)
        }
        #expect(!isWaiting)
        await world.run.onEngine { outcome.transfer = nil }
        await world.untilIdle()
        #expect(outcome.end == nil)
        try await world.finish()
    }
}
