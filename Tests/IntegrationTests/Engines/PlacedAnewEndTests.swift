import CurlEngine
import Dispatch
import Testing
import TrellisTesting

@testable import Trellis

/// The end of a request between its two exchanges: the first one was given up because its engine is stuck, and the task has not created the
/// other one yet.
@Suite(.timeLimit(.minutes(3)))
struct PlacedAnewEndTests {
    private typealias Engines = SeveralEnginesTests

    /// An executor whose jobs wait while its queue is suspended.
    private final class QueueExecutor: TaskExecutor {
        let queue = DispatchQueue(label: "tasks")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    enum End: CaseIterable, Sendable { case cancelAll, cancelTask, nothing }

    @Test(arguments: End.allCases)
    func aRequestWithoutAnExchangeEndsWithTheOthers(_ end: End) async throws {
        let gate = LoopbackServer.Gate()
        let server = try Engines.server { $0 == "/first" ? gate : nil }
        let session = Engines.session(.fixed(2), perOrigin: 1)
        let first = Engines.onEngine(1, of: session) { _ = try await session.data(server.url("/first")) }
        try await server.waitUntilRequested(count: 1)
        let executor = QueueExecutor()
        let late = Task(executorPreference: executor) { try await session.string(server.url("/late")) }
        await Engines.waitUntilLive(session, count: 2)
        let list = session.engines.first.site.list
        #expect(list.all.count == 1)
        let blockade = DispatchedWait()
        // A test that fails ends too.
        session.engines.first.executor.submit { blockade.wait(atMost: 10) }
        while !session.engines.first.executor.meter.isStuck, !Task.isCancelled { await Task.yield() }
        executor.queue.suspend()
        gate.open()
        _ = await first.result
        while !list.all.isEmpty, !Task.isCancelled { await Task.yield() }
        switch end {
        case .cancelAll: await session.cancelAllRequests()
        case .cancelTask: late.cancel()
        case .nothing: break
        }
        executor.queue.resume()
        let result = await late.result
        switch end {
        case .cancelAll:
            let error = #expect(throws: TrellisError.self) { try result.get() }
            #expect(error?.kind == .cancelled)
        case .cancelTask: #expect(throws: CancellationError.self) { try result.get() }
        case .nothing: #expect(throws: Never.self) { try result.get() }
        }
        #expect(server.requests.count == (end == .nothing ? 2 : 1))
        blockade.end()
        await session.shutdown()
    }
}
