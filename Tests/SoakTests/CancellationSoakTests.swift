import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Many requests that are cancelled at random moments cause no report of a sanitizer, and leave nothing behind.
@Suite(.serialized)
struct CancellationSoakTests {
    /// The number of requests: `TRELLIS_SOAK_REQUESTS`, which `Tests/run.sh` sets under the sanitizers; without it 10,000 with
    /// `Tests/run.sh --all`, and a few hundred every day.
    static let requests =
        ProcessInfo.processInfo.environment["TRELLIS_SOAK_REQUESTS"].flatMap(Int.init) ?? (Scale.isFull ? 10_000 : 400)
    /// The number of sessions that are shut down in the middle. Each three of them have different graces.
    static let shutdowns = Scale.isFull || isAlone ? 25 : 3
    static let tasks = 8
    /// Whether this process runs no other test, so that its descriptors can be counted.
    static let isAlone = ProcessInfo.processInfo.environment["TRELLIS_SOAK_REQUESTS"] != nil

    @Test(.timeLimit(.minutes(20)), arguments: [1, 2, 4])
    func randomCancellationsLeaveNothingBehind(engines: Int) async throws {
        let before = Descriptors.count
        var outcomes = Outcomes()
        do {
            let servers = try (0..<2).map { _ in
                try LoopbackServer.http { _ in .text(String(repeating: "x", count: 100)) }
            }
            var configuration = SessionConfiguration()
            configuration.engines = .fixed(engines)
            // Fewer connections than tasks, so that requests wait, and move to the engine of a free connection.
            configuration.limits.perOrigin = engines == 1 ? 64 : 5
            // With two origins, connections are closed for the sake of others.
            if engines > 1 { configuration.limits.total = 6 }
            let session = Session(configuration: configuration)
            let blocking = engines > 1 ? Task { await Self.blockEngines(of: session) } : nil
            outcomes = await Self.run(session, servers.map { $0.url() })
            blocking?.cancel()
            await blocking?.value
            // The session still works.
            for server in servers { #expect(try await session.data(server.url()).0.count == 100) }
            #expect(await session.liveRequestCount == 0)
            await session.shutdown()
            // Each connection that was opened was closed on this side.
            for server in servers {
                try await server.waitUntilClosed(count: server.acceptedCount)
                server.stop()
            }
        }
        #expect(outcomes.answered + outcomes.cancelled == Self.requests / Self.tasks * Self.tasks)
        #expect(outcomes.answered > 0)
        #expect(outcomes.cancelled > 0)
        if Self.isAlone { #expect(Descriptors.count == before, "\(Descriptors.targets)") }
    }

    /// The numbers of requests by their outcomes.
    struct Outcomes: Sendable {
        var answered = 0
        var cancelled = 0
        var failed = 0
    }

    static func run(_ session: Session, _ urls: [String], requests: Int = requests) async -> Outcomes {
        await withTaskGroup(of: Outcomes.self) { group in
            for seed in 0..<tasks {
                group.addTask {
                    await worker(session, urls[seed % urls.count], requests: requests / tasks, seed: UInt64(seed))
                }
            }
            return await group.reduce(into: Outcomes()) { sum, part in
                sum.answered += part.answered
                sum.cancelled += part.cancelled
                sum.failed += part.failed
            }
        }
    }

    /// Sends its share of requests in different ways, and cancels most of them after a random number of yields.
    private static func worker(
        _ session: Session, _ url: String, requests: Int, seed: UInt64
    ) async -> Outcomes {
        var random = SplitMix64(state: seed)
        var outcomes = Outcomes()
        for turn in 0..<requests {
            let task = send(session, url, turn)
            if random.next() % 4 != 0 {
                // However few requests there are, one is cancelled at once.
                for _ in 0..<(turn == 0 ? 0 : random.next() % 24) { await Task.yield() }
                task.cancel()
            }
            do {
                _ = try await task.value
                outcomes.answered += 1
            } catch is CancellationError {
                outcomes.cancelled += 1
            } catch {
                Issue.record(error)
                outcomes.failed += 1
            }
        }
        return outcomes
    }

    /// Starts a request: collected, streamed, with steps, by a handle that is suspended, or on the thread of an engine.
    private static func send(_ session: Session, _ url: String, _ turn: Int) -> Task<Int, any Error> {
        switch turn % 8 {
        case 0, 4:
            return Task {
                var count = 0
                for try await chunk in try await session.stream(url).chunks { count += chunk.count }
                return count
            }
        case 1:
            let executors = session.executors
            return Task(executorPreference: executors[turn / 8 % executors.count]) {
                try await session.data(url).0.count
            }
        case 2:
            return Task {
                let handle = session.request(url)
                handle.resume()
                await Task.yield()
                handle.suspend()
                await Task.yield()
                handle.resume()
                return try await handle.data().count
            }
        case 3:
            let request = Request(url).withInterceptor(RetryPolicy(retryLimit: 1))
                .withAdapter(Adapter { request, _ in request })
            return Task { try await session.data(request).0.count }
        default: return Task { try await session.data(url).0.count }
        }
    }

    /// Blocks one engine after the other for a tenth of a second, while requests are in progress: every day the first one only.
    private static func blockEngines(of session: Session) async {
        for engine in session.engines.all.prefix(Scale.isFull || isAlone ? .max : 1) {
            let gate = DispatchSemaphore(value: 0)
            engine.executor.submit { gate.wait() }
            while engine.executor.meter.turnTime < .milliseconds(100), !Task.isCancelled { await Task.yield() }
            gate.signal()
        }
    }

    /// A session that ends in the middle of its requests ends all of them, wherever they are.
    @Test(.timeLimit(.minutes(2)), arguments: [1, 2, 4])
    func aShutdownInTheMiddleLeavesNothingBehind(engines: Int) async throws {
        let server = try LoopbackServer.http { _ in .text(String(repeating: "x", count: 100)) }
        let url = server.url()
        for round in 0..<Self.shutdowns {
            await Self.shutDown(after: 20 + round, .milliseconds(round % 3), engines: engines) { session, turn in
                guard let count = try? await Self.send(session, url, turn).value else { return false }
                #expect(count == 100)
                return true
            }
        }
        try await server.waitUntilClosed(count: server.acceptedCount)
    }

    /// Shuts a session down after a number of turns that its tasks have done, and expects that nothing of it is left.
    ///
    /// - Parameter work: Does a turn, and returns whether it has succeeded. A task ends with the first one that was refused or cancelled.
    static func shutDown(
        after count: Int, _ grace: Duration, engines: Int,
        _ work: @escaping @Sendable (Session, _ turn: Int) async -> Bool
    ) async {
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(engines)
        configuration.limits.perOrigin = 3
        let (session, done) = (Session(configuration: configuration), Locked(0))
        let workers = (0..<tasks).map { worker in
            Task {
                var turn = worker
                while await work(session, turn) {
                    done.withLock { $0 += 1 }
                    turn += 1
                }
            }
        }
        while done.withLock({ $0 }) < count, !Task.isCancelled { await Task.yield() }
        await session.shutdown(drainingFor: grace)
        for worker in workers { await worker.value }
        #expect(await session.liveRequestCount == 0)
    }
}

/// A generator of random numbers that are the same in every run.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
