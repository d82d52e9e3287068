import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// Tasks that need the same result at the same time share the work for it.
@Suite(.timeLimit(.minutes(3)))
struct SharedWorkTests {
    private struct Broken: Error {}

    private let work = SharedWork<String, Int>()
    private let count = Locked(0)
    private let end = LoopbackServer.Gate()
    private let cancelled = LoopbackServer.Gate()

    /// Starts a task that waits for work that returns its number when the gate opens.
    private func ask(_ key: String = "a", fails: Bool = false) -> Task<Int, any Error> {
        Task {
            try await work.value(for: key) {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                try await withTaskCancellationHandler {
                    try await end.opened()
                } onCancel: {
                    cancelled.open()
                }
                if fails { throw Broken() }
                return number
            }
        }
    }

    private func settle(waiting number: Int) async {
        while work.waitingCount != number, !Task.isCancelled { await Task.yield() }
    }

    private func settle(begun number: Int) async {
        while count.withLock({ $0 }) != number, !Task.isCancelled { await Task.yield() }
    }

    @Test func allTasksHaveTheResultOfOne() async throws {
        let tasks = (0..<20).map { _ in ask() }
        await settle(waiting: 20)
        end.open()
        for task in tasks { #expect(try await task.value == 1) }
        // No result is kept.
        #expect(work.waitingCount == 0)
        #expect(try await ask().value == 2)
    }

    @Test func aFailureIsShared() async {
        let tasks = (0..<3).map { _ in ask(fails: true) }
        await settle(waiting: 3)
        end.open()
        for task in tasks { await #expect(throws: Broken.self) { try await task.value } }
        #expect(count.withLock { $0 } == 1)
    }

    @Test func otherKeysShareNothing() async throws {
        let (one, other) = (ask(), ask("b"))
        await settle(begun: 2)
        end.open()
        #expect(try await Set([one.value, other.value]) == [1, 2])
    }

    /// Even the first one: the work is no task's own.
    @Test func aTaskThatIsCancelledLeavesTheOthers() async throws {
        let first = ask()
        await settle(waiting: 1)
        let second = ask()
        await settle(waiting: 2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        end.open()
        #expect(try await second.value == 1)
    }

    /// The work may never end, and tasks that keep coming would then keep it alive.
    @Test func workThatItsFirstTaskHasLeftTakesNoFurtherOnes() async throws {
        let first = ask()
        await settle(begun: 1)
        let second = ask()
        await settle(waiting: 2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        let third = ask()
        await settle(begun: 2)
        let fourth = ask()
        await settle(waiting: 3)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        try await cancelled.opened()
        end.open()
        #expect(try await third.value == 2)
        #expect(try await fourth.value == 2)
        #expect(work.waitingCount == 0)
    }

    @Test func theLastTaskToLeaveCancelsTheWork() async throws {
        let first = ask()
        await settle(begun: 1)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        try await cancelled.opened()
        // The next task gets work of its own.
        let second = ask()
        await settle(begun: 2)
        end.open()
        #expect(try await second.value == 2)
    }
}
