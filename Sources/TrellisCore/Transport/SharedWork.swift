import CurlEngine

/// Work that runs once for all tasks that need its result at the same time.
///
/// The work runs in a task of its own, with the task-local values of the first waiter. A waiter whose task is cancelled leaves at once, and
/// the last one to leave cancels the work, which nobody waits for then. No result is kept.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Work {
        let number: UInt64
        var task: Task<Void, Never>?
        /// The waiters by ticket. Tickets are numbered in the order of arrival.
        var waiters: [UInt64: Reply<Value>] = [:]
    }

    private struct State {
        var works: [Key: Work] = [:]
        /// The number of the last ticket or work.
        var last: UInt64 = 0

        mutating func next() -> UInt64 {
            last += 1
            return last
        }
    }

    private let state = Locked(State())

    /// The number of waiters.
    var waitingCount: Int { state.withLock { $0.works.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Returns the result of the work with a key, which begins unless it is under way.
    ///
    /// - Throws: The error of the work; `CancellationError` as soon as the calling task is cancelled.
    func value(for key: Key, of body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let ticket = state.withLock { $0.next() }
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                join(key, ticket: ticket, reply: reply, body)
                // The task may have been cancelled before there was a waiter to remove.
                if Task.isCancelled { leave(key, ticket: ticket) }
            }
        } onCancel: {
            leave(key, ticket: ticket)
        }
    }

    private func join(
        _ key: Key, ticket: UInt64, reply: Reply<Value>, _ body: @escaping @Sendable () async throws -> Value
    ) {
        let number = state.withLock { state -> UInt64? in
            let isNew = state.works[key] == nil
            let number = isNew ? state.next() : 0
            // The work is changed in place: a copy would copy all waiters.
            state.works[key, default: Work(number: number)].waiters[ticket] = reply
            return isNew ? number : nil
        }
        guard let number else { return }
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            end(key, number: number, with: result)
        }
        let isWanted = state.withLock { state in
            guard state.works[key]?.number == number else { return false }
            state.works[key]?.task = task
            return true
        }
        // All waiters have left, or the work has ended.
        if !isWanted { task.cancel() }
    }

    private func leave(_ key: Key, ticket: UInt64) {
        let (reply, task) = state.withLock { state -> (Reply<Value>?, Task<Void, Never>?) in
            guard let reply = state.works[key]?.waiters.removeValue(forKey: ticket) else { return (nil, nil) }
            guard state.works[key]?.waiters.isEmpty == true else { return (reply, nil) }
            return (reply, state.works.removeValue(forKey: key)?.task)
        }
        task?.cancelOffEngine()
        reply?.resume(with: .failure(CancellationError()))
    }

    /// Ends work, unless all of its waiters have left, and resumes the waiters in the order of their arrival.
    private func end(_ key: Key, number: UInt64, with result: Result<Value, any Error>) {
        let work = state.withLock { $0.works[key]?.number == number ? $0.works.removeValue(forKey: key) : nil }
        for (_, reply) in (work?.waiters ?? [:]).sorted(by: { $0.key < $1.key }) { reply.resume(with: result) }
    }
}
