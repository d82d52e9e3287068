package import CurlEngine

/// A meter that measures a transfer and informs any number of observers, on any thread.
///
/// The broadcaster keeps only the latest value: a slow observer misses values and does not delay the transfer. Without observers,
/// each chunk costs a lock and one reading of the clock. The creator of a broadcaster must call ``finish()``.
package final class ProgressBroadcaster: Sendable {
    private struct State: Sendable {
        var meter: ProgressMeter
        var latest: TransferProgress
        /// The number of the latest value, with which an observer recognises values that it has not seen.
        var version = 1
        var isFinished = false
        /// The continuations of waiting observers, by their number.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
        /// Whether a flush is scheduled.
        var isFlushDue = false
        /// The sums that the transfer is a part of.
        var sums: [ProgressSum] = []

        /// The part of the transfer in a sum. The total of a transfer that has ended is the number of its bytes.
        var share: ProgressShare {
            ProgressShare(
                completed: meter.completed, moved: meter.moved, total: isFinished ? meter.completed : meter.total,
                isFinished: isFinished)
        }

        /// Whether a flush must be scheduled: an observer waits, and bytes have moved too soon after the last report.
        var mustFlush: Bool { meter.isAhead && !waiters.isEmpty && !isFlushDue && !isFinished }

        /// Updates the latest value and returns the continuations to resume.
        mutating func publish(at now: EngineInstant) -> [CheckedContinuation<Void, Never>] {
            latest = meter.progress(at: now)
            version += 1
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let clock: any EngineClock
    private let state: Locked<State>

    /// Creates a broadcaster; `total` is the expected number of bytes, `nil` if it is not known.
    package init(clock: any EngineClock, total: Int64? = nil) {
        self.clock = clock
        let meter = ProgressMeter(start: clock.now(), total: total)
        state = Locked(State(meter: meter, latest: TransferProgress(completedBytes: 0, totalBytes: total)))
    }

    /// The sequence of values that observers read.
    package var values: TransferProgressSequence { TransferProgressSequence(self) }

    // MARK: The transfer's side

    /// Counts bytes that have moved.
    package func advance(by count: Int) {
        let now = clock.now()
        update { state in state.meter.advance(by: Int64(count), at: now) ? state.publish(at: now) : [] }
    }

    /// Sets the position of the transfer: after an existing part, or at the beginning.
    package func jump(to completed: Int64) {
        let now = clock.now()
        update { state in
            guard completed != state.meter.completed else { return [] }
            state.meter.jump(to: completed, at: now)
            return state.publish(at: now)
        }
    }

    /// Sets the total number of bytes; `nil` if it is unknown.
    package func expect(_ total: Int64?) {
        let now = clock.now()
        update { state in
            guard total != state.meter.total else { return [] }
            state.meter.expect(total)
            return state.publish(at: now)
        }
    }

    /// Ends the transfer, successful or not. Observers get the last value, and then the end. Further calls have no effect.
    package func finish() {
        let now = clock.now()
        update { state in
            guard !state.isFinished else { return [] }
            state.isFinished = true
            state.meter.finish(at: now)
            return state.publish(at: now)
        }
    }

    /// Changes the state, resumes the returned continuations outside the lock, and schedules a flush if necessary.
    private func update(_ change: (inout State) -> [CheckedContinuation<Void, Never>]) {
        let (waiters, mustFlush, sums, old, new) = state.withLock { state in
            let old = state.share
            let waiters = change(&state)
            defer { if state.mustFlush { state.isFlushDue = true } }
            return (waiters, state.mustFlush, state.sums, old, state.share)
        }
        for sum in sums { sum.replace(old, by: new) }
        for waiter in waiters { waiter.resume() }
        if mustFlush { flushSoon() }
    }

    /// Makes the transfer a part of a sum, now and with all later changes.
    func join(_ sum: ProgressSum) {
        let share = state.withLock { state in
            state.sums.append(sum)
            return state.share
        }
        sum.replace(ProgressShare(), by: share)
    }

    /// Schedules a flush, so that the last bytes before a pause are reported a little later.
    private func flushSoon() {
        Task { [weak self] in
            try? await Task.sleep(for: .nanoseconds(Int64(ProgressMeter.interval)))
            self?.flush()
        }
    }

    private func flush() {
        let now = clock.now()
        update { state in
            state.isFlushDue = false
            guard state.meter.isAhead, !state.isFinished else { return [] }
            state.meter.report(at: now)
            return state.publish(at: now)
        }
    }

    // MARK: The observers' side

    /// The progress of the transfer at this moment.
    package var current: TransferProgress {
        let now = clock.now()
        return state.withLock { $0.isFinished ? $0.latest : $0.meter.progress(at: now) }
    }

    /// The update for an observer.
    enum News {
        /// A value that the observer has not seen.
        case value(TransferProgress, version: Int)
        /// The end of the transfer.
        case end
        /// The absence of an update.
        case none
    }

    /// Returns the update for an observer that has seen `version`.
    func news(since version: Int) -> News {
        state.withLock { state in
            if state.version > version { return .value(state.latest, version: state.version) }
            return state.isFinished ? .end : .none
        }
    }

    /// Waits until there is an update for an observer that has seen `version`, or the task is cancelled.
    func changed(since version: Int) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withContinuation { continuation in
                let (mustWait, mustFlush) = state.withLock { state in
                    guard state.version <= version, !state.isFinished, !Task.isCancelled else { return (false, false) }
                    state.waiters[id] = continuation
                    defer { if state.mustFlush { state.isFlushDue = true } }
                    return (true, state.mustFlush)
                }
                if !mustWait { continuation.resume() }
                if mustFlush { flushSoon() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}
