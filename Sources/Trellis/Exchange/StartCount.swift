import CurlEngine

/// The count of a call's attempts that were started, for calls whose attempts run concurrently.
final class StartCount: Sendable {
    private let attempts = Locked<Set<Int>>([])

    /// The number of attempts that were started.
    var value: Int { attempts.withLock { $0.count } }

    /// Counts an attempt, once for all of its hops.
    func add(_ attempt: Int) { attempts.withLock { _ = $0.insert(attempt) } }
}
