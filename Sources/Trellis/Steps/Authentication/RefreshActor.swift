/// Holds a credential and those who wait for another. What becomes of whom is ``RefreshState``'s to say.
actor RefreshActor<AuthenticatorType: Authenticator> {
    typealias Credential = AuthenticatorType.Credential

    private(set) var credential: Credential?
    private nonisolated let authenticator: AuthenticatorType
    private nonisolated let timeout: Duration?
    private nonisolated let clock: any Clock<Duration>
    private let now: @Sendable () -> Duration
    private var state: RefreshState
    /// What the last refresh failed with.
    private var failure: (any Error)?
    private var refresh: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    /// By ticket, which tells who came first.
    private var waiters: [Int: CheckedContinuation<Credential, any Error>] = [:]
    private var lastTicket = 0

    init(
        _ authenticator: AuthenticatorType, credential: Credential?, window: RefreshWindow?, timeout: Duration?,
        clock: any Clock<Duration>
    ) {
        self.authenticator = authenticator
        self.credential = credential
        self.timeout = timeout
        self.clock = clock
        now = Self.stopwatch(clock)
        state = RefreshState(hasCredential: credential != nil, window: window)
    }

    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    // MARK: Calls

    /// The credential with which a call goes out.
    func credential(for call: UInt64) async throws -> Credential {
        let requiresRefresh = credential?.requiresRefresh ?? false
        return try await follow(state.adapt(call, requiresRefresh: requiresRefresh, at: now())) ?? current()
    }

    /// The credential and its number.
    var versioned: (Credential, version: Int)? { credential.map { ($0, state.version) } }

    /// Whether a call that was refused is sent again.
    func renew(for call: UInt64, isCurrent: Bool, version: Int) async throws -> Bool {
        let decision = state.refuse(call, isCurrent: isCurrent, ofVersion: version, at: now())
        return try await follow(decision) != nil
    }

    func set(_ credential: Credential?) {
        self.credential = credential
        state.replace(hasCredential: credential != nil)
        refresh?.cancel()
        release(credential.map { .success($0) } ?? .failure(AuthenticationError.missingCredential))
    }

    private func current() throws -> Credential {
        guard let credential else { throw AuthenticationError.missingCredential }
        return credential
    }

    /// `nil`: the call is to be left as it is.
    private func follow(_ decision: RefreshState.Decision) async throws -> Credential? {
        switch decision {
        case .leave: return nil
        case .proceed: return try current()
        case .wait: return try await wait()
        case .refresh(let number):
            begin(number, try current())
            return try await wait()
        case .fail(.missingCredential): throw AuthenticationError.missingCredential
        case .fail(.excessiveRefresh): throw AuthenticationError.excessiveRefresh
        case .fail(.refreshFailed): throw failure ?? AuthenticationError.missingCredential
        }
    }

    // MARK: Waiting

    var waitingCount: Int { waiters.count }

    private func wait() async throws -> Credential {
        lastTicket += 1
        let ticket = lastTicket
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiters[ticket] = $0 }
        } onCancel: {
            // It gets here when the task waits: there is no suspension on the way to that.
            Task { await self.leave(ticket) }
        }
    }

    private func leave(_ ticket: Int) { waiters.removeValue(forKey: ticket)?.resume(throwing: CancellationError()) }

    private func release(_ result: Result<Credential, any Error>) {
        timer?.cancel()
        (refresh, timer) = (nil, nil)
        let waiting = waiters.sorted { $0.key < $1.key }
        waiters = [:]
        for (_, waiter) in waiting { waiter.resume(with: result) }
    }

    // MARK: The refresh

    private func begin(_ number: Int, _ credential: Credential) {
        refresh = refreshing(number, credential)
        if let timeout { timer = limiting(number, to: timeout) }
    }

    /// In a task of its own on the pool, which no call's cancellation reaches. Not of this actor, as it would be were it made
    /// in `begin`.
    private nonisolated func refreshing(_ number: Int, _ credential: Credential) -> Task<Void, Never> {
        let scopes = RefreshScope.refreshes.union([ObjectIdentifier(self)])
        return Task(executorPreference: globalConcurrentExecutor) { [self] in
            await RefreshScope.$refreshes.withValue(scopes) {
                do {
                    await refreshed(number, try await authenticator.refresh(credential))
                } catch {
                    await failed(number, error is CancellationError ? AuthenticationError.refreshCancelled : error)
                }
            }
        }
    }

    private nonisolated func limiting(_ number: Int, to timeout: Duration) -> Task<Void, Never> {
        Task(executorPreference: globalConcurrentExecutor) { [self] in
            do { try await clock.sleep(for: timeout, tolerance: nil) } catch { return }
            await timedOut(number)
        }
    }

    private func refreshed(_ number: Int, _ credential: Credential) {
        guard state.refreshed(number, requiresRefresh: credential.requiresRefresh) else { return }
        self.credential = credential
        failure = nil
        release(.success(credential))
    }

    private func failed(_ number: Int, _ error: any Error) {
        guard state.refreshFailed(number) else { return }
        failure = error
        release(.failure(error))
    }

    private func timedOut(_ number: Int) {
        refresh?.cancel()
        failed(number, AuthenticationError.refreshTimedOut)
    }
}
