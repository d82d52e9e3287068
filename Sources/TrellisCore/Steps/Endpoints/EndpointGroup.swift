import CurlEngine

/// The endpoints of one origin: their balance, behind a lock, and the source that names them.
final class EndpointGroup: Sendable {
    /// What a request gets that asks for an endpoint.
    enum Answer: Sendable {
        case lease(EndpointLease)
        /// The source has not answered. The request waits for the news after a number of them.
        case wait(news: Int)
    }

    private struct State {
        var balance: EndpointBalance
        /// Whether the source has named a set, which may be empty.
        var hasSet = false
        /// The last error of the source; `nil` if it has named a set since.
        var failure: (any Error)?
        /// The number of answers of the source.
        var news = 0
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    /// A request that waits for an answer of the source.
    private struct Waiter {
        let continuation: AsyncStream<Never>.Continuation
        /// The work that rests during the wait, for a clock that is set by hand.
        let work: ClockWork?

        func end() {
            work?.resume()
            continuation.finish()
        }
    }

    /// The origin, with a port that is not the usual one of its scheme.
    let origin: String
    private let policy: EndpointPolicy
    private let state: Locked<State>
    /// The source of the sets; `nil` for a fixed one.
    private let feed: (any EndpointFeed)?
    /// Is called with the endpoints that have left.
    private let whenLeft: @Sendable ([Endpoint]) -> Void

    init(
        _ pool: EndpointPool, origin: String, feed: (any EndpointFeed)?,
        whenLeft: @escaping @Sendable ([Endpoint]) -> Void = { _ in }
    ) {
        self.origin = origin
        policy = pool.policy
        self.feed = feed
        self.whenLeft = whenLeft
        state = Locked(State(balance: EndpointBalance(pool)))
        if case .fixed(let endpoints) = pool.source { replace(by: endpoints) }
    }

    /// Whether a request may have to wait for a set.
    var mayWait: Bool { feed != nil }

    /// The endpoints with their requests in flight and their health.
    var members: [EndpointBalance.Member] { state.withLock { $0.balance.members } }

    /// Changes the balance.
    func change<Result>(_ body: (inout EndpointBalance) -> Result) -> Result { state.withLock { body(&$0.balance) } }

    // MARK: A request

    /// Returns the lease of a request, or the news that it waits for.
    ///
    /// - Parameters:
    ///   - hasWaited: Whether the request has waited already, so that any set will do.
    ///   - isRefused: Returns whether the circuit of an endpoint is open.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/noEndpoint``, with the source's error if it has failed.
    func lease(
        for request: Request, _ context: CallContext, hasWaited: Bool, isRefused: (Endpoint) -> Bool
    ) throws -> Answer {
        let now = context.now
        // Before the source is asked, whose answer may come at once.
        let known = state.withLock { $0.news }
        let mustWait = feed?.update(self, at: now) ?? false
        let key = if case .sticky(let source) = policy { source.key(of: request) } else { String?.none }
        let used = context.call.usedEndpoints
        let (mayGo, choice, failure) = state.withLock { state -> (Bool, EndpointBalance.Choice?, (any Error)?) in
            guard !mustWait || hasWaited, state.hasSet || state.failure != nil else { return (false, nil, nil) }
            let choice = state.balance.choose(key: key, besides: used, at: now, isRefused: isRefused)
            return (true, choice, state.failure)
        }
        guard mayGo else { return .wait(news: known) }
        guard let choice else { throw noEndpoint(because: failure) }
        return .lease(EndpointLease(choice, of: self, clock: context.call.clock))
    }

    private func noEndpoint(because failure: (any Error)?) -> TrellisError {
        let reason =
            failure == nil
            ? "\(origin) has no endpoint: its pool in the session's configuration is empty, or its directory has named none"
            : "the endpoints of \(origin) are not known, because their source has failed"
        return TrellisError(.connectionFailed(.noEndpoint(reason)), phase: .connecting, underlying: failure)
    }

    /// Waits for an answer of the source.
    ///
    /// - Parameter known: The number of answers that the waiter knows.
    /// - Throws: `CancellationError` in a cancelled task.
    func wait(after known: Int) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        // A directory names a set when it likes. A look-up is work.
        let waiter = Waiter(continuation: continuation, work: feed is EndpointObservation ? ClockWork.current : nil)
        let number = state.withLock { state -> Int? in
            guard state.news == known else { return nil }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = waiter
            waiter.work?.pause()
            return state.lastWaiter
        }
        guard let number else { return }
        for await _ in stream {}
        state.withLock { $0.waiters.removeValue(forKey: number) }?.end()
        try Task.checkCancellation()
    }

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    // MARK: The source

    /// Takes the next set of endpoints.
    func replace(by endpoints: [Endpoint]) {
        let left = tell { state in
            (state.hasSet, state.failure) = (true, nil)
            return state.balance.replace(by: endpoints)
        }
        if !left.isEmpty { whenLeft(left) }
    }

    /// Takes an error of the source. The last set stays.
    func fail(_ error: any Error) { tell { $0.failure = $0.hasSet ? nil : error } }

    private func tell<Result>(_ change: (inout State) -> Result) -> Result {
        let (result, waiters) = state.withLock { state in
            let result = change(&state)
            state.news += 1
            defer { state.waiters = [:] }
            return (result, state.waiters)
        }
        for waiter in waiters.values { waiter.end() }
        return result
    }

    /// Asks the source no more.
    func end() { feed?.end() }
}

/// A source of the endpoints of a group.
protocol EndpointFeed: Sendable {
    /// Asks for the next set, if it is time, without waiting. Returns whether a request should wait for the answer.
    func update(_ group: EndpointGroup, at now: EngineInstant) -> Bool
    /// Asks no more.
    func end()
}

extension Call {
    /// The addresses of the endpoints to which the call was sent, and has not succeeded.
    var usedEndpoints: Set<String> { existingRecord?.withLock { $0.usedEndpoints } ?? [] }

    /// Records that the call is sent to an endpoint, or that it has succeeded there.
    func note(_ endpoint: Endpoint, hasSucceeded: Bool) {
        record.withLock { record in
            if hasSucceeded {
                record.usedEndpoints.remove(endpoint.address)
            } else {
                record.usedEndpoints.insert(endpoint.address)
            }
        }
    }
}
