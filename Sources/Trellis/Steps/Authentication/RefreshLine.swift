import CurlEngine

/// Those who wait for a refresh. It knows nothing of credentials, so that those who wait are small whatever a credential is.
final class RefreshLine: Sendable {
    private enum Waiter {
        /// On its way to waiting.
        case arriving
        case waiting(Reply<Void>)
        /// What it waits for came first.
        case ended(Result<Void, any Error>)
    }

    private struct State {
        /// By ticket, which tells who came first.
        var waiters: [Int: Waiter] = [:]
        var lastTicket = 0
    }

    /// Those who are let go, in the order in which they came.
    struct Waiting {
        fileprivate let replies: [(ticket: Int, reply: Reply<Void>)]
        fileprivate let result: Result<Void, any Error>

        func letGo() {
            for (_, reply) in replies { reply.resume(with: result) }
        }
    }

    private let state = Locked(State())

    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// A place in the line.
    func newTicket() -> Int {
        state.withLock { state in
            state.lastTicket += 1
            state.waiters[state.lastTicket] = .arriving
            return state.lastTicket
        }
    }

    /// Returns when the line is ended.
    ///
    /// - Throws: What it is ended with; `CancellationError` in a cancelled task, at once.
    func wait(with ticket: Int) async throws {
        try await withTaskCancellationHandler {
            try await withReply { enter(ticket, $0) }
        } onCancel: {
            leave(ticket)
        }
    }

    /// Ends the line as it is now. Who comes later waits for the next end.
    func end(with result: Result<Void, any Error>) -> Waiting {
        state.withLock { state in
            var replies: [(ticket: Int, reply: Reply<Void>)] = []
            var others: [Int: Waiter] = [:]
            for (ticket, waiter) in state.waiters {
                switch waiter {
                case .waiting(let reply): replies.append((ticket, reply))
                case .arriving: others[ticket] = .ended(result)
                case .ended: others[ticket] = waiter
                }
            }
            state.waiters = others
            replies.sort { $0.ticket < $1.ticket }
            return Waiting(replies: replies, result: result)
        }
    }

    @inline(never)
    private func enter(_ ticket: Int, _ reply: Reply<Void>) {
        let end: Result<Void, any Error>? = state.withLock { state in
            if case .ended(let end) = state.waiters[ticket] {
                state.waiters[ticket] = nil
                return end
            }
            state.waiters[ticket] = .waiting(reply)
            return nil
        }
        if let end { reply.resume(with: end) }
    }

    private func leave(_ ticket: Int) {
        let reply: Reply<Void>? = state.withLock { state in
            switch state.waiters[ticket] {
            case .waiting(let reply):
                state.waiters[ticket] = nil
                return reply
            case .arriving:
                state.waiters[ticket] = .ended(.failure(CancellationError()))
                return nil
            case .ended, nil: return nil
            }
        }
        reply?.resume(with: .failure(CancellationError()))
    }
}
