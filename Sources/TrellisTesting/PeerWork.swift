import CurlEngine

/// The task that plays the peer of an exchange, for a ``TestClock`` that waits while the task runs.
final class PeerWork: Sendable {
    /// The work of the present task; `nil` if it plays no peer.
    @TaskLocal static var current: PeerWork?

    /// The number of tasks at work, by the number of the call.
    private static let counts = Locked<[UInt64: Int]>([:])

    /// Returns whether a peer of a call is at work.
    static func isUnderWay(of call: UInt64) -> Bool { counts.withLock { $0[call, default: 0] > 0 } }

    private let call: UInt64
    /// The number of tasks of the peer that wait: its own and those that it has begun.
    private let waiting = Locked(0)

    private init(_ call: UInt64) { self.call = call }

    /// Returns a function that performs work as the peer of a call. The peer is at work from now on, even before the function is called.
    static func beginning(of call: UInt64, _ body: @escaping @Sendable () async -> Void) -> @Sendable () async -> Void {
        let work = PeerWork(call)
        work.change(by: 1)
        return {
            await $current.withValue(work, operation: body)
            work.change(by: -1)
        }
    }

    /// Takes note that a task of the peer waits. With the first one the peer rests, because its other tasks mostly wait for that one.
    func pause() {
        let isFirst = waiting.withLock { waiting in
            waiting += 1
            return waiting == 1
        }
        if isFirst { change(by: -1) }
    }

    /// Takes note that a task of the peer continues.
    func resume() {
        let isLast = waiting.withLock { waiting in
            waiting -= 1
            return waiting == 0
        }
        if isLast { change(by: 1) }
    }

    private func change(by difference: Int) {
        Self.counts.withLock { counts in
            let count = counts[call, default: 0] + difference
            counts[call] = count == 0 ? nil : count
        }
    }
}
