/// Waits until all tasks have ended, at most for `limit`. A task that has not ended then continues. Returns whether all have ended.
///
/// - Parameter clock: The clock of the limit.
@discardableResult
package func waitForEnd(
    of tasks: [Task<Void, Never>], within limit: Duration, on clock: any EngineClock = MonotonicClock.system
) async -> Bool {
    guard !tasks.isEmpty else { return true }
    return await withContinuation { (continuation: CheckedContinuation<Bool, Never>) in
        let waiter = Locked<CheckedContinuation<Bool, Never>?>(continuation)
        let resume: @Sendable (Bool) -> Void = { haveEnded in
            waiter.withLock { waiter in
                defer { waiter = nil }
                return waiter
            }?.resume(returning: haveEnded)
        }
        let timer = beginTimer(of: limit, on: clock) { resume(false) }
        Task {
            for task in tasks { await task.value }
            resume(true)
            timer?.cancel()
        }
    }
}

/// Calls `body` once or more often after a time. Returns the task that waits for the time, which may be cancelled; `nil` if a test moves
/// the clock.
private func beginTimer(
    of time: Duration, on clock: any EngineClock, _ body: @escaping @Sendable () -> Void
) -> Task<Void, Never>? {
    let start = clock.now()
    let end = start.advanced(by: time)
    guard clock.sleep(until: end, from: start) == nil else {
        return Task {
            try? await Task.sleep(for: time)
            body()
        }
    }
    let look: @Sendable () -> Void = { [weak clock] in
        if let clock, clock.now() >= end { body() }
    }
    clock.onAdvance(look)
    // The clock may have been moved before that.
    look()
    return nil
}
