/// A task that plays the peer of an exchange, or runs code of the user's for a call: a clock of a test does not move while the task runs.
///
/// The task is at work from its making to its end, except while it rests.
package final class ClockWork: Sendable {
    /// The work of the present task; `nil` if there is none.
    @TaskLocal package static var current: ClockWork?

    private struct State {
        /// The number of tasks of the work that wait: its own and those that it has begun.
        var waiting = 0
        /// The numbers of the calls that the work has made.
        var calls: Set<UInt64> = []
    }

    /// The works under way, by the number of the call.
    private static let works = Locked<[UInt64: [ClockWork]]>([:])

    /// Returns whether the works for a call are all at rest; `nil` if there is none.
    ///
    /// - Parameter calls: The numbers of the calls under way.
    package static func isAtRest(for call: UInt64, beside calls: Set<UInt64> = []) -> Bool? {
        works.withLock { $0[call] }?.allSatisfy { $0.isAtRest(beside: calls) }
    }

    private let call: UInt64
    private let state = Locked(State())

    /// Begins the work for a call.
    package init(for call: UInt64) {
        self.call = call
        Self.works.withLock { $0[call, default: []].append(self) }
    }

    /// Returns a function that performs work as the peer of a call. The peer is at work from now on, even before the function is called.
    package static func beginning(
        of call: UInt64, _ body: @escaping @Sendable () async -> Void
    ) -> @Sendable () async -> Void {
        let work = ClockWork(for: call)
        return {
            await $current.withValue(work, operation: body)
            work.end()
        }
    }

    /// Performs the work. What waits for a clock or a gate meanwhile is at rest.
    package func perform<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await Self.$current.withValue(self, operation: body)
    }

    /// Takes note of a call that the work has made. While it is under way the work rests, because it mostly waits for the call.
    package func note(_ call: UInt64) { state.withLock { _ = $0.calls.insert(call) } }

    /// Takes note that a task of the work waits. With the first one the work rests, because its other tasks mostly wait for that one.
    package func pause() { state.withLock { $0.waiting += 1 } }

    /// Takes note that a task of the work is about to continue.
    package func resume() { state.withLock { $0.waiting -= 1 } }

    /// Takes note of the end.
    package func end() {
        Self.works.withLock { works in
            works[call]?.removeAll { $0 === self }
            if works[call]?.isEmpty == true { works[call] = nil }
        }
    }

    private func isAtRest(beside calls: Set<UInt64>) -> Bool {
        state.withLock { $0.waiting > 0 || !$0.calls.isDisjoint(with: calls) }
    }
}
