import CurlEngine

/// A limiter that delays requests until their host may get another one: enforces a ``RateLimit``, with a queue for each host.
///
/// ```swift
/// configuration.steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))
/// ```
///
/// The rate belongs to the limiter: sessions and requests with the same limiter share its rate.
///
/// ```swift
/// let searches = RateLimiter(RateLimit(requestsPerSecond: 1))
/// let request = Request(url).withSteps { $0.rateLimiters.append(searches) }
/// ```
///
/// A request waits as long as its deadline allows: a request whose turn would be too late fails at once. The wait counts in
/// ``Metrics/queued``, and ``RequestEvent/Kind/rateLimited(host:wait:)`` reports the wait. Requests of a higher ``Request/priority``
/// go first. A request that ends before it was sent, for example while it waits for a connection, returns its turn, and the
/// next request may be sent.
public final class RateLimiter: Sendable {
    /// A call that waits for its turn, with the reply that resumes it.
    private struct Waiter {
        let reply: Reply<Int>
        let call: Call

        /// Ends the wait. The call waits no more even before its task runs: a test clock must not move until then.
        func resume(with result: Result<Int, any Error>) {
            call.record.withLock { $0.wait = nil }
            reply.resume(with: result)
        }
    }

    /// The timer and the clock of a waiter's session.
    private struct Timer {
        let engine: EngineExecutor
        let clock: any EngineClock
        let session: ObjectIdentifier

        init(_ call: Call) {
            engine = call.sender?.freeEngine ?? call.engine
            clock = call.deadline.clock
            session = Self.session(of: call)
        }

        static func session(of call: Call) -> ObjectIdentifier { ObjectIdentifier(call.sender ?? call.engine) }
    }

    /// The queue of one host, with its waiters and the task that wakes them.
    private struct Host: HostState {
        var queue: RateLimitQueue<UInt64>
        var waiters: [UInt64: Waiter] = [:]
        /// The task that wakes the waiters whose turn has arrived.
        var pump: Task<Void, Never>?
        /// The number of the task, which distinguishes it from earlier ones.
        var pumpNumber = 0

        /// Removes the pump of a host without waiters, and returns it, to be cancelled outside the lock.
        mutating func takePump() -> Task<Void, Never>? {
            defer { (pump, waiters) = (nil, [:]) }
            pumpNumber += 1
            return pump
        }

        /// The waiter with the next turn.
        var next: Waiter? { queue.next.flatMap { waiters[$0] } }

        func isForgettable(at now: EngineInstant) -> Bool { pump == nil && queue.isForgettable(at: now) }
    }

    /// The result of asking for a turn.
    private enum Entrance {
        case admitted(token: Int)
        case waiting(ticket: UInt64)
    }

    /// The number of requests that each host may get, and the size of a burst.
    public let limit: RateLimit
    private let hosts: Locked<HostTable<Host>>
    private let lastTicket = Locked<UInt64>(0)

    /// Creates a limiter with full buckets.
    public init(_ limit: RateLimit) {
        self.limit = limit
        hosts = Locked(HostTable { Host(queue: RateLimitQueue(limit)) })
    }

    /// Returns the number of waiters for a host.
    func waitingCount(host: String) -> Int {
        hosts.withLock { $0.withState(of: host, at: EngineInstant(nanoseconds: 0)) { $0.waiters.count } }
    }

    /// Returns whether a task waits for the next turn at a host.
    func hasPump(host: String) -> Bool {
        hosts.withLock { $0.withState(of: host, at: EngineInstant(nanoseconds: 0)) { $0.pump != nil } }
    }

    /// Waits until the host may get another request: not at all, or until the turn of the request.
    ///
    /// - Returns: The token for ``giveBack(_:host:_:)`` if the request is never sent.
    /// - Throws: `CancellationError` in a cancelled task; ``TrellisError`` of kind ``TrellisError/Kind/rateLimited`` if the
    ///   wait would be too long, or of kind ``TrellisError/Kind/cancelled`` when the session is shut down.
    @inline(never)
    @discardableResult
    func enter(host: String, _ context: CallContext, _ priority: RequestPriority = .normal) async throws -> Int {
        switch try entrance(to: host, priority, context) {
        case .admitted(let token): return token
        case .waiting(let ticket):
            return try await withTaskCancellationHandler {
                try await withReply { wait(with: $0, ticket: ticket, host: host, priority, context) }
            } onCancel: {
                leave(ticket, host)
            }
        }
    }

    /// Returns the token of a request that was not sent: another request may be sent in its place.
    func giveBack(_ token: Int, host: String, _ context: CallContext) {
        let now = context.now
        let replaced = withHost(host, at: now) { state -> Task<Void, Never>? in
            state.queue.giveBack(token)
            // The turn of the next waiter may have arrived.
            guard state.next != nil else { return nil }
            defer { startPump(&state, host, at: now) }
            return state.pump
        }
        replaced?.cancel()
    }

    /// Returns the reason why a request waits, for errors.
    func reasonForWaiting(_ ticket: UInt64, host: String) -> String {
        let count = withHost(host, at: EngineInstant(nanoseconds: 0)) { $0.queue.countAhead(of: ticket) }
        return "the rate limit of \(host) has \(count) other request\(count == 1 ? "" : "s") ahead of it"
    }

    private func withHost<Result>(_ host: String, at now: EngineInstant, _ body: (inout Host) -> Result) -> Result {
        hosts.withLock { $0.withState(of: host, at: now) { body(&$0) } }
    }

    // MARK: Entering

    @inline(never)
    private func entrance(to host: String, _ priority: RequestPriority, _ context: CallContext) throws -> Entrance {
        let (now, longest) = (context.now, context.remainingTime?.clampedNanoseconds)
        let (entry, token) = withHost(host, at: now) {
            let isAdmitted = $0.queue.enterAtOnce(at: now)
            return (isAdmitted ? .admitted : $0.queue.outlook(priority, at: now, longest: longest), $0.queue.lastToken)
        }
        switch entry {
        case .admitted: return .admitted(token: token)
        case .refused(let wait): throw refusal(of: host, wait, context)
        case .waiting(let wait):
            context.call.observer?.tell(.rateLimited(host: host, wait: wait), attempt: context.attempt)
            let ticket = lastTicket.withLock { ticket in
                ticket += 1
                return ticket
            }
            return .waiting(ticket: ticket)
        }
    }

    /// Enters the queue. Entering, storing the reply and marking the call as one that waits are one step under the lock, or the turn could
    /// arrive before the reply is stored, or before the mark.
    @inline(never)
    private func wait(
        with reply: Reply<Int>, ticket: UInt64, host: String, _ priority: RequestPriority, _ context: CallContext
    ) {
        let (now, longest) = (context.now, context.remainingTime?.clampedNanoseconds)
        let (entry, token) = withHost(host, at: now) { state in
            let entry = state.queue.enter(ticket, priority, at: now, longest: longest)
            if case .waiting = entry {
                state.waiters[ticket] = Waiter(reply: reply, call: context.call)
                context.call.record.withLock { $0.wait = .rate(self, host: host, ticket: ticket, since: now) }
                if state.pump == nil { startPump(&state, host, at: now) }
            }
            return (entry, state.queue.lastToken)
        }
        switch entry {
        case .admitted: return reply.resume(with: .success(token))
        case .refused(let wait): return reply.resume(with: .failure(refusal(of: host, wait, context)))
        case .waiting: break
        }
        // The task may have been cancelled before its waiter was in the queue.
        if Task.isCancelled { leave(ticket, host) }
    }

    private func leave(_ ticket: UInt64, _ host: String) {
        let (waiter, pump) = withHost(host, at: EngineInstant(nanoseconds: 0)) { host in
            host.queue.leave(ticket)
            let waiter = host.waiters.removeValue(forKey: ticket)
            // The next turn may be far off, and no waiter is left for it.
            return (waiter, host.waiters.isEmpty ? host.takePump() : nil)
        }
        pump?.cancel()
        waiter?.resume(with: .failure(CancellationError()))
    }

    @inline(never)
    private func refusal(of host: String, _ wait: Duration, _ context: CallContext) -> TrellisError {
        if let maximumWait = limit.maximumWait, wait > maximumWait {
            return TrellisError(.limited(.rate(host: host, wait: wait, maximumWait: maximumWait)))
        }
        var error = TrellisError(
            .limited(.rate(host: host, wait: wait, maximumWait: context.remainingTime ?? .zero)))
        error.detail = "its deadline comes first"
        return error
    }

    // MARK: Waking

    /// Starts the pump on the pool, which retains none of the waiters. Replaces the previous pump, which the caller cancels.
    private func startPump(_ state: inout Host, _ host: String, at now: EngineInstant) {
        state.pumpNumber += 1
        let number = state.pumpNumber
        state.pump = Task(executorPreference: globalConcurrentExecutor) { await self.pump(number, host, at: now) }
    }

    /// Wakes the waiters whose turn has arrived, as long as there are waiters.
    private func pump(_ number: Int, _ host: String, at start: EngineInstant) async {
        var now = start
        while let (turn, timer) = wake(number, host, at: now) {
            do {
                guard try await timer.engine.delay(until: turn, of: self) else {
                    giveUp(host, timer)
                    continue
                }
            } catch {
                // Another pump has taken the place of this one.
                return
            }
            now = timer.clock.now()
        }
    }

    /// Wakes the waiters whose turn has arrived. Returns the time of the next turn and a timer of its waiter; `nil` if the queue
    /// is empty or another pump has taken over.
    private func wake(_ number: Int, _ host: String, at now: EngineInstant) -> (EngineInstant, Timer)? {
        let (due, next) = withHost(host, at: now) { state -> ([(Waiter, Int)], (EngineInstant, Call)?) in
            guard state.pumpNumber == number else { return ([], nil) }
            let admitted = state.queue.admit(at: now)
            let first = state.queue.lastToken - admitted.count
            let due = admitted.enumerated().compactMap { index, ticket in
                state.waiters.removeValue(forKey: ticket).map { ($0, first + index + 1) }
            }
            guard let turn = state.queue.nextTurn, let next = state.next else {
                state.pump = nil
                return (due, nil)
            }
            return (due, (turn, next.call))
        }
        for (waiter, token) in due { waiter.resume(with: .success(token)) }
        return next.map { ($0.0, Timer($0.1)) }
    }

    /// Fails the waiters of a session that has been shut down.
    private func giveUp(_ host: String, _ timer: Timer) {
        let waiters = withHost(host, at: EngineInstant(nanoseconds: 0)) { host in
            let gone = host.waiters.filter { Timer.session(of: $0.value.call) == timer.session }
            for ticket in gone.keys {
                host.queue.leave(ticket)
                host.waiters[ticket] = nil
            }
            return gone.values
        }
        for waiter in waiters { waiter.resume(with: .failure(TrellisError(.cancelled(.sessionShutDown)))) }
    }
}
