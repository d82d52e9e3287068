import Synchronization

/// How often the request of a call was on its way, counted where attempts go out beside each other.
final class StartCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}
