import Testing
import Trellis
import TrellisTesting

@testable import CurlEngine

/// Threads and descriptors of an engine: there while it lives, gone when it has ended.
///
/// Each test looks at the whole process, in which other suites run engines of their own: so it runs in a process of its own.
@Suite(.timeLimit(.minutes(2)))
struct EngineResourceTests {
    @Test func theThreadAndItsDescriptorsEndWithTheEngine() async {
        await #expect(processExitsWith: .success) {
            let before = ProcessFacts.engineDescriptorCount
            for _ in 0..<40 {
                let engine = EngineExecutor()
                // Twice: the descriptors come with the first turn of the loop, after the first calls.
                for _ in 0..<2 { await EngineExecutorTests.passThrough(engine) }
                expectInProcess(ProcessFacts.threads(named: "trellis-engine").count == 1, "threads")
                await engine.shutDown()
                await untilNoEngineThread()
            }
            // The runtime's own pool opens a few of the same kinds, when it likes; one an engine would be forty.
            let after = ProcessFacts.engineDescriptorCount
            expectInProcess(after < before + 10, "\(before) then \(after)")
        }
    }

    @Test func nothingIsThereBeforeTheFirstWork() async {
        await #expect(processExitsWith: .success) {
            let session = Session()
            expectInProcess(ProcessFacts.threads(named: "trellis-engine").isEmpty, "a thread")
            withExtendedLifetime(session) {}
        }
    }

    @Test func aSessionLeavesNoThreadAndNoDescriptorAfterRequests() async {
        await #expect(processExitsWith: .success) {
            // Once for what is set up a single time: libcurl's globals, the resolver, the pool's threads.
            try await useASession()
            let before = ProcessFacts.descriptors
            for _ in 0..<5 { try await useASession() }
            let after = ProcessFacts.descriptors
            expectInProcess(after.count == before.count, "\(Set(after).subtracting(before))")
            expectInProcess(ProcessFacts.threads(named: "trellis-engine").isEmpty)
        }
    }

    @Test func aSessionThatIsDroppedEndsItsThread() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.http { _ in .text("hello") }
            _ = try await Session().data(server.url())
            try await server.waitUntilAllClosed()
            await untilNoEngineThread()
        }
    }

    @Test func anIdleEngineDoesNotWake() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.http { _ in .text("hello") }
            let session = Session()
            _ = try await session.data(server.url())
            await session.settle()
            let thread = ProcessFacts.threads(named: "trellis-engine").first ?? ""
            // Quiet first: what the last request left to do is over when nothing changes any more.
            var (last, now) = (-1, ProcessFacts.voluntarySwitches(ofThread: thread) ?? -2)
            while last != now {
                pause(milliseconds: 50)
                (last, now) = (now, ProcessFacts.voluntarySwitches(ofThread: thread) ?? -2)
            }
            // The pause is the measurement: so long nothing may happen.
            pause(milliseconds: 500)
            let after = ProcessFacts.voluntarySwitches(ofThread: thread)
            expectInProcess(after == now, "woke \((after ?? 0) - now) times")
            await session.shutdown()
        }
    }
}
