import CurlEngine

/// The queue of the calls that wait for a refresh. The queue does not know the credential, so that waiters are small even if the
/// credential is large.
final class RefreshQueue: Sendable {
    /// The state of one waiter.
    private enum Waiter {
        /// The waiter has a ticket, and does not wait yet.
        case arriving
        case waiting(Reply<Void>, Call)
        /// The queue was ended before the waiter began to wait.
        case ended(Result<Void, any Error>)
    }

    private struct State {
        /// The waiters by ticket; tickets are numbered in the order of arrival.
        var waiters: [Int: Waiter] = [:]
        var lastTicket = 0
    }

    /// The waiters to resume, in the order of their arrival.
    struct Waiting {
        fileprivate let replies: [(ticket: Int, reply: Reply<Void>, call: Call)]
        fileprivate let result: Result<Void, any Error>
        fileprivate let queue: RefreshQueue

        /// Resumes the waiters.
        func letGo() {
            for waiter in replies { queue.mark(waiter.call, waits: false) }
            for waiter in replies { waiter.reply.resume(with: result) }
        }
    }

    private let state = Locked(State())
    /// A number that no call has, by which a clock waits for the refresh.
    let number = Call.nextID()

    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Adds a waiter, and returns its ticket.
    func newTicket() -> Int {
        state.withLock { state in
            state.lastTicket += 1
            state.waiters[state.lastTicket] = .arriving
            return state.lastTicket
        }
    }

    /// Marks a call as one that waits, or as one that is about to continue: a test clock must not move until its task runs.
    private func mark(_ call: Call, waits: Bool) {
        call.record.withLock { record in
            if waits { return record.refreshes.append(number) }
            if let index = record.refreshes.firstIndex(of: number) { record.refreshes.remove(at: index) }
        }
    }

    /// Waits until the queue is ended.
    ///
    /// - Throws: The error that the queue is ended with; `CancellationError` in a cancelled task, at once.
    func wait(with ticket: Int, for call: Call) async throws {
        try await withTaskCancellationHandler {
            try await withReply { enter(ticket, $0, for: call) }
        } onCancel: {
            leave(ticket)
        }
    }

    /// Ends the wait of all present waiters, and returns those to resume. Waiters that arrive later wait for the next end.
    func end(with result: Result<Void, any Error>) -> Waiting {
        state.withLock { state in
            var replies: [(ticket: Int, reply: Reply<Void>, call: Call)] = []
            var others: [Int: Waiter] = [:]
            for (ticket, waiter) in state.waiters {
                switch waiter {
                case .waiting(let reply, let call): replies.append((ticket, reply, call))
                case .arriving: others[ticket] = .ended(result)
                case .ended: others[ticket] = waiter
                }
            }
            state.waiters = others
            replies.sort { $0.ticket < $1.ticket }
            return Waiting(replies: replies, result: result, queue: self)
        }
    }

    @inline(never)
    private func enter(_ ticket: Int, _ reply: Reply<Void>, for call: Call) {
        let end: Result<Void, any Error>? = state.withLock { state in
            if case .ended(let end) = state.waiters[ticket] {
                state.waiters[ticket] = nil
                return end
            }
            state.waiters[ticket] = .waiting(reply, call)
            mark(call, waits: true)
            return nil
        }
        if let end { reply.resume(with: end) }
    }

    private func leave(_ ticket: Int) {
        let waiter: (reply: Reply<Void>, call: Call)? = state.withLock { state in
            switch state.waiters[ticket] {
            case .waiting(let reply, let call):
                state.waiters[ticket] = nil
                return (reply, call)
            case .arriving:
                state.waiters[ticket] = .ended(.failure(CancellationError()))
                return nil
            case .ended, nil: return nil
            }
        }
        guard let waiter else { return }
        mark(waiter.call, waits: false)
        waiter.reply.resume(with: .failure(CancellationError()))
    }
}
