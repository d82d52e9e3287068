import Testing

@testable import TrellisCore

/// Lookups by the system in tasks that were cancelled.
@Suite(.timeLimit(.minutes(3)))
struct SystemNameResolverTests {
    /// The few threads are for names that are awaited.
    @Test func aCancelledTaskLooksNothingUp() async {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await SystemNameResolver().addresses(of: "localhost", family: .any)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
