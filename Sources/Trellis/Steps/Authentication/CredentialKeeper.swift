import CurlEngine

/// Holds a credential and those who wait for another. What becomes of whom is ``RefreshState``'s to say.
///
/// A lock and no actor: thousands who are let go at once would each have to get back onto the actor first, one after the other,
/// and whoever is cancelled would have to wait for it to leave.
final class CredentialKeeper<AuthenticatorType: Authenticator>: Sendable {
    typealias Credential = AuthenticatorType.Credential

    private struct State {
        var credential: Credential?
        var machine: RefreshState
        /// What the last refresh failed with.
        var failure: (any Error)?
        var refresh: Task<Void, Never>?
        var timer: Task<Void, Never>?
        /// By ticket, which tells who came first.
        var waiters: [Int: Waiter] = [:]
        private var lastTicket = 0

        init(credential: Credential?, machine: RefreshState) {
            self.credential = credential
            self.machine = machine
        }

        var current: Credential {
            get throws {
                guard let credential else { throw AuthenticationError.missingCredential }
                return credential
            }
        }

        mutating func newTicket() -> Int {
            lastTicket += 1
            waiters[lastTicket] = .arriving
            return lastTicket
        }
    }

    private enum Waiter {
        /// On its way to waiting.
        case arriving
        case waiting(Reply<Credential>)
        /// What it waits for came first.
        case ended(Result<Credential, any Error>)
    }

    /// What a call does next.
    private enum Step {
        case goOn(Credential)
        case wait(ticket: Int)
        case leave
    }

    private let authenticator: AuthenticatorType
    private let timeout: Duration?
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> Duration
    private let state: Locked<State>

    init(
        _ authenticator: AuthenticatorType, credential: Credential?, window: RefreshWindow?, timeout: Duration?,
        clock: any Clock<Duration>
    ) {
        self.authenticator = authenticator
        self.timeout = timeout
        self.clock = clock
        now = Self.stopwatch(clock)
        let machine = RefreshState(hasCredential: credential != nil, window: window)
        state = Locked(State(credential: credential, machine: machine))
    }

    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    // MARK: Calls

    /// The credential as it is now. Setting it ends the refresh under way, whose calls go on with this one.
    var credential: Credential? {
        get { state.withLock { $0.credential } }
        set {
            let waiting = state.withLock { state in
                state.credential = newValue
                state.machine.replace(hasCredential: newValue != nil)
                state.refresh?.cancel()
                return Self.end(
                    &state, newValue.map { .success($0) } ?? .failure(AuthenticationError.missingCredential))
            }
            waiting.letGo()
        }
    }

    /// The credential and its number.
    var versioned: (credential: Credential, version: Int)? {
        state.withLock { state in state.credential.map { ($0, state.machine.version) } }
    }

    /// The credential with which a call goes out.
    func credential(for call: UInt64) async throws -> Credential {
        // Not asked under the lock: it is the user's code.
        let expired = versioned.flatMap { $0.credential.requiresRefresh ? $0.version : nil }
        let now = now()
        let step = try state.withLock { state in
            let requiresRefresh = expired == state.machine.version
            return try follow(state.machine.adapt(call, requiresRefresh: requiresRefresh, at: now), &state)
        }
        guard let credential = try await take(step) else { throw AuthenticationError.missingCredential }
        return credential
    }

    /// Whether a call that was refused is sent again.
    func renew(for call: UInt64, isCurrent: Bool, version: Int) async throws -> Bool {
        let now = now()
        let step = try state.withLock { state in
            try follow(state.machine.refuse(call, isCurrent: isCurrent, ofVersion: version, at: now), &state)
        }
        return try await take(step) != nil
    }

    private func follow(_ decision: RefreshState.Decision, _ state: inout State) throws -> Step {
        switch decision {
        case .leave: return .leave
        case .proceed: return .goOn(try state.current)
        case .wait: return .wait(ticket: state.newTicket())
        case .refresh(let number):
            state.refresh = refreshing(number, try state.current)
            state.timer = timeout.map { limiting(number, to: $0) }
            return .wait(ticket: state.newTicket())
        case .fail(.missingCredential): throw AuthenticationError.missingCredential
        case .fail(.excessiveRefresh): throw AuthenticationError.excessiveRefresh
        case .fail(.refreshFailed): throw state.failure ?? AuthenticationError.missingCredential
        }
    }

    // MARK: Waiting

    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// `nil`: the call is to be left as it is.
    private func take(_ step: Step) async throws -> Credential? {
        switch step {
        case .leave: return nil
        case .goOn(let credential): return credential
        case .wait(let ticket):
            return try await withTaskCancellationHandler {
                try await withReply { wait(ticket, $0) }
            } onCancel: {
                leave(ticket)
            }
        }
    }

    private func wait(_ ticket: Int, _ reply: Reply<Credential>) {
        let end: Result<Credential, any Error>? = state.withLock { state in
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
        let reply: Reply<Credential>? = state.withLock { state in
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

    /// Those who wait, to be let go without the lock.
    private struct Waiting {
        let replies: [(ticket: Int, reply: Reply<Credential>)]
        let result: Result<Credential, any Error>

        /// In the order in which they came.
        func letGo() {
            for (_, reply) in replies.sorted(by: { $0.ticket < $1.ticket }) { reply.resume(with: result) }
        }
    }

    private static func end(_ state: inout State, _ result: Result<Credential, any Error>) -> Waiting {
        state.timer?.cancel()
        (state.refresh, state.timer) = (nil, nil)
        var replies: [(ticket: Int, reply: Reply<Credential>)] = []
        var others: [Int: Waiter] = [:]
        for (ticket, waiter) in state.waiters {
            switch waiter {
            case .waiting(let reply): replies.append((ticket, reply))
            case .arriving: others[ticket] = .ended(result)
            case .ended: others[ticket] = waiter
            }
        }
        state.waiters = others
        return Waiting(replies: replies, result: result)
    }

    // MARK: The refresh

    /// In a task of its own on the pool, which no call's cancellation reaches.
    private func refreshing(_ number: Int, _ credential: Credential) -> Task<Void, Never> {
        let scopes = RefreshScope.refreshes.union([ObjectIdentifier(self)])
        return Task(executorPreference: globalConcurrentExecutor) { [self] in
            await RefreshScope.$refreshes.withValue(scopes) {
                do {
                    refreshed(number, try await authenticator.refresh(credential))
                } catch {
                    failed(number, error is CancellationError ? AuthenticationError.refreshCancelled : error)
                }
            }
        }
    }

    private func limiting(_ number: Int, to timeout: Duration) -> Task<Void, Never> {
        Task(executorPreference: globalConcurrentExecutor) { [self] in
            do { try await clock.sleep(for: timeout, tolerance: nil) } catch { return }
            failed(number, AuthenticationError.refreshTimedOut, cancelling: true)
        }
    }

    private func refreshed(_ number: Int, _ credential: Credential) {
        let isExpired = credential.requiresRefresh
        let waiting: Waiting? = state.withLock { state in
            guard state.machine.refreshed(number, requiresRefresh: isExpired) else { return nil }
            state.credential = credential
            state.failure = nil
            return Self.end(&state, .success(credential))
        }
        waiting?.letGo()
    }

    private func failed(_ number: Int, _ error: any Error, cancelling cancels: Bool = false) {
        let waiting: Waiting? = state.withLock { state in
            guard state.machine.refreshFailed(number) else { return nil }
            if cancels { state.refresh?.cancel() }
            state.failure = error
            return Self.end(&state, .failure(error))
        }
        waiting?.letGo()
    }
}
