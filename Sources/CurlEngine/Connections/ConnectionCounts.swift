/// The connections of an engine that serve one queue of requests.
package struct ConnectionCount: Hashable, Sendable {
    /// The number of connections that are open, or being made.
    package var connections = 0
    /// The number of streams that the server allows on a connection; `nil` if it has told none.
    package var streams: Int?
    /// The number of connections over HTTP/2 that carry streams or are being made; zero if there are not several.
    package var shared = 0
}

/// The connections of an engine by the names of their queues.
struct ConnectionCounts {
    private var counts: [String: ConnectionCount] = [:]
    /// The queues whose numbers have changed since ``takeChanges()``.
    private var changed: Set<String> = []

    /// Whether numbers have changed since ``takeChanges()``.
    var haveChanged: Bool { !changed.isEmpty }

    /// Returns the number of connections of a queue.
    subscript(queue: String) -> Int { counts[queue]?.connections ?? 0 }

    /// Changes the number of connections of a queue.
    mutating func change(_ queue: String, by change: Int) { modify(queue) { $0.connections += change } }

    /// Returns the number of shared connections in use of a queue.
    func shared(_ queue: String) -> Int { counts[queue]?.shared ?? 0 }

    /// Changes the number of shared connections in use of a queue.
    mutating func changeShared(_ queue: String, by change: Int) { modify(queue) { $0.shared += change } }

    /// Sets the number of streams that the server of a queue allows on a connection.
    mutating func allow(_ streams: Int, on queue: String) { modify(queue) { $0.streams = streams } }

    private mutating func modify(_ queue: String, _ body: (inout ConnectionCount) -> Void) {
        var count = counts[queue] ?? ConnectionCount()
        body(&count)
        counts[queue] = count.connections > 0 || count.shared > 0 ? count : nil
        changed.insert(queue)
    }

    /// Returns the numbers of the queues that have changed since the last call.
    mutating func takeChanges() -> [String: ConnectionCount] {
        var changes: [String: ConnectionCount] = [:]
        for queue in changed { changes[queue] = counts[queue] ?? ConnectionCount() }
        changed = []
        return changes
    }
}
