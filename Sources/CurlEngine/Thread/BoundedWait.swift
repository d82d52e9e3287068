/// Waits until all tasks have ended, at most for `limit`. A task that has not ended then continues.
package func waitForEnd(of tasks: [Task<Void, Never>], within limit: Duration) async {
    guard !tasks.isEmpty else { return }
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let waiter = Locked<CheckedContinuation<Void, Never>?>(continuation)
        let resume = { @Sendable in
            waiter.withLock { waiter in
                defer { waiter = nil }
                return waiter
            }?.resume()
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            resume()
        }
        Task {
            for task in tasks { await task.value }
            timer.cancel()
            resume()
        }
    }
}
