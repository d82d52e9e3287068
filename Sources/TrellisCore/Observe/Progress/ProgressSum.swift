package import CurlEngine

/// The part of one transfer in the sum of several. A value.
struct ProgressShare: Hashable, Sendable {
    /// The number of completed bytes.
    var completed: Int64 = 0
    /// The number of bytes that moved, without bytes that existed before.
    var moved: Int64 = 0
    /// The total number of bytes; `nil` if it is unknown.
    var total: Int64?
    /// Whether the transfer has ended.
    var isFinished = false
}

/// The progress of several transfers together, for any number of observers, on any thread.
///
/// The transfers report to the sum from the first observer or request for ``current`` on: a sum that has none costs them nothing.
package final class ProgressSum: Sendable {
    private struct State: Sendable {
        // Numbers of 128 bits: servers may announce any total, and several of them may be too much for 64 bits.
        var completed: Int128 = 0
        var total: Int128 = 0
        /// The number of transfers whose total is not known.
        var unknown: Int
        /// The number of transfers that have not ended.
        var running: Int
        /// The transfers, until they join.
        var parts: [ProgressBroadcaster]
    }

    private let broadcaster: ProgressBroadcaster
    private let state: Locked<State>

    /// Creates the sum of transfers; a transfer that is listed twice counts once.
    package init(of parts: [ProgressBroadcaster], clock: any EngineClock) {
        var known: Set<ObjectIdentifier> = []
        let parts = parts.filter { known.insert(ObjectIdentifier($0)).inserted }
        broadcaster = ProgressBroadcaster(clock: clock)
        state = Locked(State(unknown: parts.count, running: parts.count, parts: parts))
        if parts.isEmpty { broadcaster.finish() }
    }

    /// The sequence of values that observers read.
    package var values: TransferProgressSequence {
        TransferProgressSequence(broadcaster) { [self] in begin() }
    }

    /// The progress at this moment.
    package var current: TransferProgress {
        begin()
        return broadcaster.current
    }

    /// Joins the transfers, once.
    private func begin() {
        let parts = state.withLock { state in
            defer { state.parts = [] }
            return state.parts
        }
        for part in parts { part.join(self) }
    }

    /// Replaces the share of a transfer. Changes may arrive in another order than they happened in: only differences count.
    func replace(_ old: ProgressShare, by new: ProgressShare) {
        guard new != old else { return }
        let moved = new.moved - old.moved
        // Reported under the lock: the last report has to carry the final numbers.
        state.withLock { state in
            state.completed += Int128(new.completed) - Int128(old.completed)
            state.total += Int128(new.total ?? 0) - Int128(old.total ?? 0)
            state.unknown += (new.total == nil ? 1 : 0) - (old.total == nil ? 1 : 0)
            state.running += (new.isFinished ? 0 : 1) - (old.isFinished ? 0 : 1)
            broadcaster.expect(state.unknown == 0 ? Int64(clamping: state.total) : nil)
            // Only bytes that moved count for the speed.
            let start = Int64(clamping: state.completed - Int128(moved)), end = Int64(clamping: state.completed)
            broadcaster.jump(to: start)
            broadcaster.advance(by: Int(clamping: Int128(end) - Int128(start)))
            if state.running == 0 { broadcaster.finish() }
        }
    }
}
