import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// Many requests that are cancelled at random moments cause no report of a sanitizer, and leave nothing behind.
@Suite(.serialized)
struct CancellationSoakTests {
    /// The number of requests: 100,000 under the sanitizers (`TRELLIS_SOAK_REQUESTS`), and fewer in local runs.
    static let requests = ProcessInfo.processInfo.environment["TRELLIS_SOAK_REQUESTS"].flatMap(Int.init) ?? 10_000
    static let tasks = 8
    /// Indicates whether this process runs no other test, so that its descriptors can be counted.
    static let isAlone = ProcessInfo.processInfo.environment["TRELLIS_SOAK_REQUESTS"] != nil

    @Test(.timeLimit(.minutes(20)), arguments: [1, 2, 4])
    func randomCancellationsLeaveNothingBehind(engines: Int) async throws {
        let before = openDescriptors()
        var outcomes = Outcomes()
        do {
            let server = try LoopbackServer.http { _ in .text(String(repeating: "x", count: 100)) }
            var configuration = SessionConfiguration()
            configuration.engines = .fixed(engines)
            // Fewer connections than tasks, so that requests wait, and move to the engine of a free connection.
            configuration.limits.perOrigin = engines == 1 ? 64 : 5
            let session = Session(configuration: configuration)
            outcomes = await Self.run(session, server.url())
            // The session still works.
            let (data, _) = try await session.data(server.url())
            #expect(data.count == 100)
            #expect(await session.liveRequestCount == 0)
            await session.shutdown()
            // Each connection that was opened was closed on this side.
            try await server.waitUntilClosed(count: server.acceptedCount)
            server.stop()
        }
        #expect(outcomes.answered + outcomes.cancelled == Self.requests)
        #expect(outcomes.answered > 0)
        #expect(outcomes.cancelled > 0)
        if Self.isAlone { #expect(openDescriptors() == before) }
    }

    /// The numbers of requests by their outcomes.
    struct Outcomes: Sendable {
        var answered = 0
        var cancelled = 0
        var failed = 0
    }

    private static func run(_ session: Session, _ url: String) async -> Outcomes {
        await withTaskGroup(of: Outcomes.self) { group in
            for seed in 0..<tasks { group.addTask { await worker(session, url, seed: UInt64(seed)) } }
            return await group.reduce(into: Outcomes()) { sum, part in
                sum.answered += part.answered
                sum.cancelled += part.cancelled
                sum.failed += part.failed
            }
        }
    }

    /// Sends its share of requests, some collected and some streamed, and cancels most of them after a random number of yields.
    private static func worker(_ session: Session, _ url: String, seed: UInt64) async -> Outcomes {
        var random = SplitMix64(state: seed)
        var outcomes = Outcomes()
        for turn in 0..<(requests / tasks) {
            let isStreamed = turn % 4 == 0
            let task = Task {
                guard isStreamed else { return try await session.data(url).0.count }
                var count = 0
                for try await chunk in try await session.stream(url).chunks { count += chunk.count }
                return count
            }
            if random.next() % 4 != 0 {
                for _ in 0..<(random.next() % 24) { await Task.yield() }
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

    private func openDescriptors() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
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
