import CurlEngine

/// The holder of a credential and of the calls that wait for another one. ``RefreshState`` makes the decisions about the calls.
///
/// The state is under a lock and not in an actor: thousands of calls that are resumed at once would each have to return to the
/// actor first, one after the other, and a cancelled call would have to wait for the actor before it could leave.
final class CredentialStore<AuthenticatorType: Authenticator>: Sendable {
    typealias Credential = AuthenticatorType.Credential

    private struct State {
        var credential: Credential?
        /// The number of times that the user has set the credential.
        var epoch = 0
        /// The state machine that decides about the calls.
        var machine: RefreshState
        /// The error of the last refresh.
        var failure: (any Error)?
        /// The task of the refresh under way.
        var refresh: Task<Void, Never>?
        /// The task that ends the refresh under way after its timeout.
        var timer: Task<Void, Never>?
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
    }

    /// The values that remain after a refresh. The values are released outside the lock: cancellation handlers and the
    /// deinitializers of a credential or an error are the user's code, which may ask for the credential.
    private struct ReleasedValues {
        let waiting: RefreshQueue.Waiting
        let timer: Task<Void, Never>?
        var cancelled: Task<Void, Never>?
        var credential: Credential?
        var failure: (any Error)?

        func letGo() {
            timer?.cancel()
            cancelled?.cancel()
            waiting.letGo()
        }
    }

    /// The next step of a call.
    private enum Step {
        case goOn
        case wait(ticket: Int)
        case leave
    }

    private let authenticator: AuthenticatorType
    private let timeout: Duration?
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> Duration
    private let state: Locked<State>
    /// The calls that wait for the refresh under way.
    private let line = RefreshQueue()

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

    /// Returns a closure that measures the time since now on a clock.
    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    // MARK: Calls

    /// The current credential. Setting it ends the refresh under way, whose calls continue with the credential that was set.
    var credential: Credential? {
        get { state.withLock { $0.credential } }
        set {
            let leftovers = state.withLock { state in
                let (refresh, old) = (state.refresh, state.credential)
                state.epoch += 1
                state.machine.replace(hasCredential: newValue != nil)
                var leftovers = end(
                    &state, newValue == nil ? .failure(AuthenticationError.missingCredential) : .success(()))
                (leftovers.cancelled, leftovers.credential) = (refresh, old)
                state.credential = newValue
                return leftovers
            }
            leftovers.letGo()
        }
    }

    /// The number of times that the user has set the credential. A refresh does not change the number: its credential is the same
    /// user's.
    var epoch: Int { state.withLock { $0.epoch } }

    /// The credential and its version number.
    var versioned: (credential: Credential, version: Int)? {
        state.withLock { state in state.credential.map { ($0, state.machine.version) } }
    }

    /// Returns the credential that a call is sent with, after waiting for a refresh if needed.
    ///
    /// - Throws: The error of a failed refresh. The error is also recorded with the call, whose further attempts fail with it: a
    ///   retrier that asks for another attempt begins no other refresh.
    func credential(for call: Call) async throws -> Credential {
        if let failure = failure(of: call) { throw failure }
        while let ticket = try ticket(for: call) {
            do {
                try await line.wait(with: ticket, for: call)
                break
            } catch let failure as RefreshFailure {
                guard failure.isAbandoned(for: call) else { throw record(failure, of: call) }
                try call.checkCancellation()
            }
        }
        return try state.withLock { try $0.current }
    }

    /// Returns the error of the refresh with which a call failed before its request was sent; `nil` if there is no such error, or
    /// another credential has arrived since.
    func failure(of call: Call) -> (any Error)? {
        guard let failure = call.credentialRecord(of: ObjectIdentifier(self)).failure else { return nil }
        return failure.version == state.withLock({ $0.machine.version }) ? failure.error : nil
    }

    /// Records a failed refresh with a call, and returns the error of the refresh.
    @inline(never)
    private func record(_ failure: RefreshFailure, of call: Call) -> any Error {
        let record = CredentialRecord.Failure(error: failure.error, version: failure.version)
        call.changeCredentialRecord(of: ObjectIdentifier(self)) { $0.failure = record }
        return failure.error
    }

    /// Returns the ticket to wait with; `nil` if the call need not wait.
    @inline(never)
    private func ticket(for call: Call) throws -> Int? {
        // Read outside the lock: `requiresRefresh` is the user's code.
        let expired = versioned.flatMap { $0.credential.requiresRefresh ? $0.version : nil }
        let now = now()
        let (step, lastRefresh) = try state.withLock { state in
            let requiresRefresh = expired == state.machine.version
            let decision = state.machine.adapt(requiresRefresh: requiresRefresh, at: now)
            return (try follow(decision, of: call, &state), state.machine.lastRefresh)
        }
        call.changeCredentialRecord(of: ObjectIdentifier(self)) { $0.lastRefresh = lastRefresh }
        return if case .wait(let ticket) = step { ticket } else { nil }
    }

    /// Returns whether a refused call is sent again, after waiting for a refresh if needed.
    ///
    /// - Parameter discard: Ends the transfer of the refused response before a wait. After a wait the response is never
    ///   delivered, and until then it would keep the connection slot that the refresh may need.
    func renew(
        for call: Call, isCurrent: Bool, version: Int, beforeWait discard: (@Sendable () async -> Void)? = nil
    ) async throws -> Bool {
        var hasWaited = false
        while true {
            switch try step(ofRefused: call, isCurrent: isCurrent, version: version) {
            case .goOn: return true
            case .leave: return hasWaited
            case .wait(let ticket):
                if !hasWaited { await discard?() }
                hasWaited = true
                do {
                    try await line.wait(with: ticket, for: call)
                } catch let failure as RefreshFailure {
                    guard failure.isAbandoned(for: call) else { throw failure.error }
                    try call.checkCancellation()
                    continue
                }
                // A credential that was set, and not by the refresh, has not been tried yet.
                let renewed = state.withLock { $0.machine.isRenewed ? $0.machine.version : nil }
                if let renewed { call.changeCredentialRecord(of: ObjectIdentifier(self)) { $0.renewal = renewed } }
                return true
            }
        }
    }

    /// Returns the next step of a refused call, and records the credential with which the call is sent again at once.
    @inline(never)
    private func step(ofRefused call: Call, isCurrent: Bool, version: Int) throws -> Step {
        let (now, id) = (now(), ObjectIdentifier(self))
        let record = call.credentialRecord(of: id)
        let (step, present) = try state.withLock { state in
            let decision = state.machine.refuse(
                isCurrent: isCurrent, ofVersion: version, repeatedWith: record.renewal,
                sentAfter: record.lastRefresh, at: now)
            return (try follow(decision, of: call, &state), state.machine.version)
        }
        if case .goOn = step { call.changeCredentialRecord(of: id) { $0.renewal = present } }
        return step
    }

    /// Carries out a decision of the state machine about a call.
    private func follow(_ decision: RefreshState.Decision, of call: Call, _ state: inout State) throws -> Step {
        switch decision {
        case .leave: return .leave
        case .proceed: return .goOn
        case .wait: return .wait(ticket: line.newTicket())
        case .refresh(let number):
            state.refresh = refreshing(number, try state.current, for: call)
            state.timer = timeout.map { limiting(number, to: $0) }
            return .wait(ticket: line.newTicket())
        case .fail(.missingCredential): throw AuthenticationError.missingCredential
        case .fail(.excessiveRefresh): throw AuthenticationError.excessiveRefresh
        case .fail(.refreshFailed): throw state.failure ?? AuthenticationError.missingCredential
        }
    }

    var waitingCount: Int { line.waitingCount }

    /// Ends the refresh under way, and returns the values to release outside the lock.
    private func end(_ state: inout State, _ result: Result<Void, any Error>) -> ReleasedValues {
        defer { (state.refresh, state.timer) = (nil, nil) }
        return ReleasedValues(waiting: line.end(with: result), timer: state.timer)
    }

    // MARK: The refresh

    /// Starts the refresh in a separate task on the pool, which no call's cancellation reaches.
    private func refreshing(
        _ number: Int, _ credential: Credential, for call: Call
    ) -> Task<Void, Never> {
        let session = RefreshSession(of: call)
        let scopes = RefreshScope.refreshes.union([ObjectIdentifier(self)])
        let work = call.clock.working(for: line.number) { [self] in
            await RefreshScope.$refreshes.withValue(scopes) {
                do {
                    refreshed(number, try await authenticator.refresh(credential, using: session))
                } catch {
                    let cause: any Error = error is CancellationError ? AuthenticationError.refreshCancelled : error
                    failed(number, cause, endedSession: session.endedSession)
                }
            }
        }
        return Task(executorPreference: globalConcurrentExecutor) { _ = try? await work() }
    }

    /// Starts the task that fails the refresh when its timeout has passed.
    private func limiting(_ number: Int, to timeout: Duration) -> Task<Void, Never> {
        // The calls do not wait for a refresh that is about to fail.
        let work = clock.engineClock.working(for: line.number) { [self] in
            try await clock.sleep(for: timeout, tolerance: nil)
            failed(number, AuthenticationError.refreshTimedOut, cancelling: true)
        }
        return Task(executorPreference: globalConcurrentExecutor) { _ = try? await work() }
    }

    private func refreshed(_ number: Int, _ credential: Credential) {
        let isExpired = credential.requiresRefresh
        let leftovers: ReleasedValues? = state.withLock { state in
            guard state.machine.refreshed(number, requiresRefresh: isExpired) else { return nil }
            var leftovers = end(&state, .success(()))
            (leftovers.credential, leftovers.failure) = (state.credential, state.failure)
            (state.credential, state.failure) = (credential, nil)
            return leftovers
        }
        leftovers?.letGo()
    }

    private func failed(
        _ number: Int, _ error: any Error, cancelling cancels: Bool = false, endedSession: ObjectIdentifier? = nil
    ) {
        let leftovers: ReleasedValues? = state.withLock { state in
            let isWanted =
                endedSession == nil ? state.machine.refreshFailed(number) : state.machine.refreshAbandoned(number)
            guard isWanted else { return nil }
            let refresh = cancels ? state.refresh : nil
            let failure = RefreshFailure(
                error: error, version: state.machine.version, endedSession: endedSession)
            var leftovers = end(&state, .failure(failure))
            (leftovers.cancelled, leftovers.failure) = (refresh, state.failure)
            state.failure = error
            return leftovers
        }
        leftovers?.letGo()
    }
}

/// The end of a refresh that has failed, as the calls that wait for the refresh receive it.
private struct RefreshFailure: Error {
    /// The error of the refresh.
    let error: any Error
    /// The version of the credential that was not renewed.
    let version: Int
    /// The session of the refresh, if the refresh failed because the session was shut down; `nil` otherwise.
    let endedSession: ObjectIdentifier?

    /// Returns whether a call asks for a refresh again, because the refresh failed with a session that is not the call's own.
    func isAbandoned(for call: Call) -> Bool {
        guard let endedSession else { return false }
        return call.sender.map { ObjectIdentifier($0) } != endedSession
    }
}
