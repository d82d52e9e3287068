import Glibc
import Testing
import TrellisTesting

@testable import CurlEngine
@testable import TrellisCore

/// The threads and descriptors of an engine exist while the engine lives, and not after it has ended.
///
/// Each test checks the complete process, in which other suites run engines of their own; therefore each test has its own process.
@Suite(.timeLimit(.minutes(2)))
struct EngineResourceTests {
    /// The threads with the name of an engine's. A thread that an engine has just started has that name for a moment.
    private static var engineThreads: [String] { ProcessFacts.threads(named: "trellis-engine") }

    @Test func theThreadAndItsDescriptorsEndWithTheEngine() async {
        await #expect(processExitsWith: .success) {
            let before = ProcessFacts.engineDescriptorCount
            for _ in 0..<40 {
                let engine = EngineExecutor()
                // Two turns are needed, because the descriptors are opened in the first turn of the loop, after the first calls.
                for _ in 0..<2 { await EngineExecutorTests.passThrough(engine) }
                while Self.engineThreads.count != 1, !Task.isCancelled { await Task.yield() }
                await engine.shutDown()
                await untilNoEngineThread()
            }
            // The runtime's own pool may open a few of the same kinds at any time; one per engine would be forty.
            let after = ProcessFacts.engineDescriptorCount
            expectInProcess(after < before + 10, "\(before) then \(after)")
        }
    }

    /// The system would end the process without the handler that reports the crash.
    @Test func theSignalsOfACrashAreNotBlocked() async {
        await #expect(processExitsWith: .success) {
            let engine = EngineExecutor()
            await withContinuation { continuation in engine.submit { continuation.resume() } }
            var threads = Self.engineThreads
            while threads.count != 1, !Task.isCancelled {
                await Task.yield()
                threads = Self.engineThreads
            }
            let blocked = threads.compactMap(ProcessFacts.blockedSignals)
            expectInProcess(blocked.count == 1)
            for mask in blocked {
                for signal in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP] {
                    expectInProcess(mask & 1 << UInt64(signal - 1) == 0, "\(signal)")
                }
                for signal in [SIGPIPE, SIGTERM, SIGINT, SIGCHLD] {
                    expectInProcess(mask & 1 << UInt64(signal - 1) != 0, "\(signal)")
                }
            }
            await engine.shutDown()
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
            // The first session creates the parts that exist only once: libcurl's globals, the resolver, the pool's threads.
            try await useASession()
            let before = ProcessFacts.descriptors, beforeOfEngines = ProcessFacts.engineDescriptorCount
            for _ in 0..<5 { try await useASession() }
            let after = ProcessFacts.descriptors, afterOfEngines = ProcessFacts.engineDescriptorCount
            // The runtime's own pool may open a few of an engine's kinds at any time; one for each session would be five.
            expectInProcess(afterOfEngines < beforeOfEngines + 5, "\(Set(after).subtracting(before))")
            expectInProcess(
                after.count - afterOfEngines == before.count - beforeOfEngines, "\(Set(after).subtracting(before))")
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
            let session = Session(configuration: SleepingThreads.configuration)
            _ = try await session.data(server.url())
            await SleepingThreads.wait(count: 1)
            await session.shutdown()
        }
    }

    /// Requests of all engines have waited for each other before.
    ///
    /// - Parameter isGrown: Whether engines were added to the first one, and are no longer active.
    @Test(arguments: [2, 4], [false, true])
    func theEnginesOfAnIdleSessionDoNotWake(_ count: Int, _ isGrown: Bool) async {
        await #expect(processExitsWith: .success) { [count, isGrown] in
            let server = try LoopbackServer.http { _ in .text("hello") }
            var configuration = SleepingThreads.configuration
            configuration.engines = isGrown ? EngineCount(initial: 1, maximum: count) : .fixed(count)
            configuration.limits.perOrigin = 2
            let session = Session(configuration: configuration)
            if isGrown { session.engines.activate(count) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for executor in session.executors + session.executors {
                    group.addTask(executorPreference: executor) {
                        for _ in 0..<20 { _ = try await session.data(server.url()) }
                    }
                }
                try await group.waitForAll()
            }
            if isGrown { session.engines.activate(1) }
            await SleepingThreads.wait(count: count)
            await session.shutdown()
        }
    }

    /// Without a descriptor for a new connection, an idle connection of the same session or of another one is closed.
    @Test(arguments: [false, true])
    func anIdleConnectionIsGivenUpForADescriptor(_ isOfOtherSession: Bool) async {
        await #expect(processExitsWith: .success) { [isOfOtherSession] in
            let first = try LoopbackServer.http { _ in .text("first") }
            let second = try LoopbackServer.http { _ in .init(200, headers: [("Connection", "close")]) }
            let session = Session()
            let owner = isOfOtherSession ? Session() : session
            // Both engines run before the descriptors are gone.
            _ = try await session.data(second.url())
            _ = try await owner.data(first.url())
            let third = try LoopbackServer.http { _ in .text("third") }
            try await second.waitUntilAllClosed()
            var taken: [Int32] = []
            while case let descriptor = dup(2), descriptor >= 0 { taken.append(descriptor) }
            let text = try await session.string(third.url())
            expectInProcess(text == "third", text)
            for descriptor in taken { close(descriptor) }
            await session.shutdown()
            await owner.shutdown()
        }
    }
}
