import CurlEngine

/// The attempts of a call that were on their way, counted where attempts go out beside each other.
final class StartCount: Sendable {
    private let attempts = Locked<Set<Int>>([])

    var value: Int { attempts.withLock { $0.count } }

    /// Counts an attempt, once for all of its hops.
    func add(_ attempt: Int) { attempts.withLock { _ = $0.insert(attempt) } }
}
