import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The automatic number of a session's engines: one until it is busy most of the time, at most one for each core, and one again when there
/// is little to do.
@Suite(
    .timeLimit(.minutes(3)),
    .enabled(if: EngineCount.automatic.maximum > 1, "a machine with one core has one engine"))
struct AutomaticEnginesTests {
    private static let most = EngineCount.automatic.maximum

    private let scripted = Scripted {
        $0.engines = .automatic
        // Without regard to other work of the machine.
        $0.engines.idleProcessors = 0
    }
    private var now = MonotonicClock.now()

    private var engines: SessionEngines { scripted.session.engines }
    /// The number of engines that get new requests.
    private var activeCount: Int { engines.admission.activeCount }
    private var requestCounts: [Int] { scripted.session.engineStatistics.map(\.requestCount) }

    /// Records the share of the time in which each active engine was busy for 100 ms, a number of times.
    private mutating func sample(_ share: Double, times: Int = 1) {
        for _ in 0..<times {
            now = now.advanced(by: .milliseconds(100))
            for engine in 0..<activeCount { engines.scaling.sample(share, of: engine, at: now) }
        }
    }

    /// No engine has a thread, which would make samples of its own.
    @Test mutating func theNumberFollowsTheShareOfTheTimeInWhichTheEnginesAreBusy() async {
        sample(0.74, times: 50)
        #expect(activeCount == 1 && engines.all.count == 1)
        sample(0.75, times: 2)
        #expect(activeCount == 1)
        sample(0.75)
        #expect(activeCount == 2 && engines.all.count == 2)
        sample(1, times: 20 * Self.most)
        #expect(activeCount == Self.most && engines.all.count == Self.most)
        // Engines that are half busy are neither too many nor too few.
        sample(0.5, times: 100)
        #expect(activeCount == Self.most)
        sample(0.1, times: 40 * Self.most)
        #expect(activeCount == 1)
        // The engines are kept for the next load.
        #expect(engines.all.count == Self.most)
        #expect(engines.started.isEmpty)
        await scripted.session.shutdown()
    }

    /// A clock that stands still would hold up a request that a second engine has got because the machine was busy.
    @Test func aSessionWithAClockOfATestHasOneEngine() async {
        let session = Session(configuration: SessionConfiguration(), transport: nil, clock: TestClock())
        #expect(session.engines.all.count == 1 && session.engines.scaling.observer(of: 0) == nil)
        await session.shutdown()
    }

    /// An engine that is busy gets help if processors are idle.
    @Test(arguments: [(Duration.zero, 1), (.milliseconds(100), 2)])
    mutating func theIdleTimeOfTheProcessorsIsRead(_ idle: Duration, _ count: Int) async {
        let time = Locked(Duration.zero)
        let scaler = EngineScaler(EngineCount(initial: 1, maximum: 2)) { time.withLock { $0 } }
        scaler.setEngines(engines)
        for _ in 0..<3 {
            now = now.advanced(by: .milliseconds(100))
            time.withLock { $0 += idle }
            scaler.sample(1, of: 0, at: now)
        }
        #expect(activeCount == count)
        scaler.close()
        await scripted.session.shutdown()
    }

    /// Starts requests that wait for their responses.
    private func start(_ count: Int) async -> [Task<(Data, Response), any Error>] {
        let (session, transport) = (scripted.session, scripted.transport)
        let total = transport.attempts.count + count
        let tasks = (0..<count).map { _ in Task { try await session.data("http://localhost/") } }
        while transport.attempts.count < total, !Task.isCancelled { await Task.yield() }
        return tasks
    }

    /// Sends a request, and its response.
    private func get() async throws {
        let tasks = await start(1)
        scripted.transport.attempts.last?.respond(status: 200)
        for task in tasks { _ = try await task.value }
    }

    @Test mutating func theRequestsGoToTheActiveEngines() async throws {
        var tasks = await start(20)
        #expect(requestCounts == [20])
        // The engine's own samples, of a thread that does little, may come in between.
        while activeCount < 2 { sample(1) }
        tasks += await start(40)
        let counts = requestCounts
        #expect(counts.reduce(0, +) == 60)
        try #require(counts.count > 1)
        #expect(counts[0] > 20 && counts[1] > 10)
        for attempt in scripted.transport.attempts { attempt.respond(status: 200) }
        for task in tasks { _ = try await task.value }
        for engine in engines.started { await engine.settle() }
        while activeCount > 1 { sample(0.1) }
        for _ in 0..<10 { try await get() }
        #expect(requestCounts == [counts[0] + 10] + counts.dropFirst())
        await scripted.session.shutdown()
    }
}
