/// The numbers of connections of an engine by the names of their queues: those that are open, and those that are being made.
struct ConnectionCounts {
    private var counts: [String: Int] = [:]
    /// The queues whose numbers have changed since ``takeChanges()``.
    private var changed: Set<String> = []

    /// Whether numbers have changed since ``takeChanges()``.
    var haveChanged: Bool { !changed.isEmpty }

    /// Returns the number of connections of a queue.
    subscript(queue: String) -> Int { counts[queue] ?? 0 }

    /// Changes the number of connections of a queue.
    mutating func change(_ queue: String, by change: Int) {
        let count = self[queue] + change
        counts[queue] = count > 0 ? count : nil
        changed.insert(queue)
    }

    /// Returns the numbers that have changed since the last call.
    mutating func takeChanges() -> [String: Int] {
        var changes: [String: Int] = [:]
        for queue in changed { changes[queue] = self[queue] }
        changed = []
        return changes
    }
}
