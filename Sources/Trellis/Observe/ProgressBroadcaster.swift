package import CurlEngine

/// Measures a transfer and tells any number of observers, from any thread.
///
/// It keeps one value, the latest: an observer that is slow misses values and holds up nothing. Without observers it costs a
/// transfer a lock and a look at the clock per chunk. Whoever makes one must ``finish()`` it.
package final class ProgressBroadcaster: Sendable {
    private struct State: Sendable {
        var meter: ProgressMeter
        var latest: TransferProgress
        /// Counts the values; an observer knows by it what it has seen.
        var version = 1
        var isFinished = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
        var isFlushDue = false

        /// Somebody waits for bytes that moved too soon after others.
        var mustFlush: Bool { meter.isAhead && !waiters.isEmpty && !isFlushDue && !isFinished }

        mutating func publish(at now: EngineInstant) -> [CheckedContinuation<Void, Never>] {
            latest = meter.progress(at: now)
            version += 1
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let clock: any EngineClock
    private let state: Locked<State>

    package init(clock: any EngineClock, total: Int64? = nil) {
        self.clock = clock
        let meter = ProgressMeter(start: clock.now(), total: total)
        state = Locked(State(meter: meter, latest: TransferProgress(completedBytes: 0, totalBytes: total)))
    }

    /// What observers read.
    package var values: TransferProgressSequence { TransferProgressSequence(self) }

    // MARK: The transfer's side

    /// More bytes have moved.
    package func advance(by count: Int) {
        let now = clock.now()
        update { state in state.meter.advance(by: Int64(count), at: now) ? state.publish(at: now) : [] }
    }

    /// The transfer goes on from another place: what was there already, or the beginning.
    package func jump(to completed: Int64) {
        let now = clock.now()
        update { state in
            guard completed != state.meter.completed else { return [] }
            state.meter.jump(to: completed, at: now)
            return state.publish(at: now)
        }
    }

    /// So many bytes are there in all; `nil`: nobody knows.
    package func expect(_ total: Int64?) {
        let now = clock.now()
        update { state in
            guard total != state.meter.total else { return [] }
            state.meter.expect(total)
            return state.publish(at: now)
        }
    }

    /// The transfer has ended, well or not. Observers get the last value, and then the end. Once is enough.
    package func finish() {
        let now = clock.now()
        update { state in
            guard !state.isFinished else { return [] }
            state.isFinished = true
            state.meter.finish(at: now)
            return state.publish(at: now)
        }
    }

    private func update(_ change: (inout State) -> [CheckedContinuation<Void, Never>]) {
        let (waiters, mustFlush) = state.withLock { state in
            let waiters = change(&state)
            defer { if state.mustFlush { state.isFlushDue = true } }
            return (waiters, state.mustFlush)
        }
        for waiter in waiters { waiter.resume() }
        if mustFlush { flushSoon() }
    }

    /// What moves last before a pause is told a little later.
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

    /// How far the transfer is at this moment.
    package var current: TransferProgress {
        let now = clock.now()
        return state.withLock { $0.isFinished ? $0.latest : $0.meter.progress(at: now) }
    }

    enum News {
        case value(TransferProgress, version: Int)
        case end
        case none
    }

    /// What an observer that has seen `version` has not seen.
    func news(since version: Int) -> News {
        state.withLock { state in
            if state.version > version { return .value(state.latest, version: state.version) }
            return state.isFinished ? .end : .none
        }
    }

    /// Returns when there is something new, or the task is cancelled.
    func changed(since version: Int) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
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
