import CurlEngine

/// Work that runs once for all tasks that need its result at the same time.
///
/// The work runs in a separate task, with the task-local values of the first waiter. A waiter whose task is cancelled leaves at once, and
/// the last one to leave cancels the work, which nobody waits for then. No result is kept.
///
/// Work that its first waiter has left may never end. Its other waiters still wait, each for its own time, but no further task joins them:
/// the next one begins anew.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Work {
        var task: Task<Void, Never>?
        /// The waiters by ticket. Tickets are numbered in the order of arrival.
        var waiters: [UInt64: Reply<Value>] = [:]
    }

    private struct State {
        /// The works under way, each by the ticket of its first waiter.
        var works: [UInt64: Work] = [:]
        /// The work that further tasks join, by key.
        var joinable: [Key: UInt64] = [:]
        /// The work of each waiter, by ticket.
        var joined: [UInt64: UInt64] = [:]
        /// The last ticket.
        var last: UInt64 = 0

        mutating func next() -> UInt64 {
            last += 1
            return last
        }

        /// Lets no further task join work.
        mutating func close(_ number: UInt64, of key: Key) { if joinable[key] == number { joinable[key] = nil } }

        /// Removes work with its waiters.
        mutating func remove(_ number: UInt64, of key: Key) -> Work? {
            close(number, of: key)
            let work = works.removeValue(forKey: number)
            for ticket in (work?.waiters ?? [:]).keys { joined[ticket] = nil }
            return work
        }
    }

    private let state = Locked(State())

    /// The number of waiters.
    var waitingCount: Int { state.withLock { $0.joined.count } }

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
        let isNew = state.withLock { state in
            let number = state.joinable[key] ?? ticket
            state.joinable[key] = number
            state.joined[ticket] = number
            // The work is changed in place: a copy would copy all waiters.
            state.works[number, default: Work()].waiters[ticket] = reply
            return number == ticket
        }
        guard isNew else { return }
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            end(key, number: ticket, with: result)
        }
        let isWanted = state.withLock { state in
            guard state.works[ticket] != nil else { return false }
            state.works[ticket]?.task = task
            return true
        }
        // All waiters have left, or the work has ended.
        if !isWanted { task.cancel() }
    }

    private func leave(_ key: Key, ticket: UInt64) {
        let (reply, task) = state.withLock { state -> (Reply<Value>?, Task<Void, Never>?) in
            guard let number = state.joined.removeValue(forKey: ticket) else { return (nil, nil) }
            let reply = state.works[number]?.waiters.removeValue(forKey: ticket)
            if number == ticket { state.close(number, of: key) }
            guard state.works[number]?.waiters.isEmpty == true else { return (reply, nil) }
            return (reply, state.remove(number, of: key)?.task)
        }
        task?.cancelOffEngine()
        reply?.resume(with: .failure(CancellationError()))
    }

    /// Ends work, unless all of its waiters have left, and resumes the waiters in the order of their arrival.
    private func end(_ key: Key, number: UInt64, with result: Result<Value, any Error>) {
        let work = state.withLock { $0.remove(number, of: key) }
        for (_, reply) in (work?.waiters ?? [:]).sorted(by: { $0.key < $1.key }) { reply.resume(with: result) }
    }
}
