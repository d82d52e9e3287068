import CurlEngine

/// Holds requests up until their host may have another one: performs a ``RateLimit``, with a queue for each host.
///
/// ```swift
/// configuration.steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))
/// ```
///
/// The rate is that of whoever holds the limiter: sessions and requests with the same one keep to it together.
///
/// ```swift
/// let searches = RateLimiter(RateLimit(requestsPerSecond: 1))
/// let request = Request(url).withSteps { $0.rateLimiters.append(searches) }
/// ```
///
/// A request waits as long as its deadline lets it: one whose turn would come too late fails at once. The wait counts in
/// ``Metrics/queued``, and ``RequestEvent/Kind/limited(host:wait:)`` tells of it. Requests of a higher ``Request/priority`` go first.
public final class RateLimiter: Sendable {
    private struct Waiter {
        let reply: Reply<Void>
        let call: CallSituation
    }

    private struct Host: HostState {
        var queue: RateLimitQueue<UInt64>
        var waiters: [UInt64: Waiter] = [:]
        /// Somebody wakes those whose turn has come.
        var hasPump = false

        func isForgettable(at now: EngineInstant) -> Bool { !hasPump && queue.isForgettable(at: now) }
    }

    /// The limit.
    public let limit: RateLimit
    private let hosts: Locked<HostTable<Host>>
    private let lastTicket = Locked<UInt64>(0)

    /// A limiter with full buckets.
    public init(_ limit: RateLimit) {
        self.limit = limit
        hosts = Locked(HostTable { Host(queue: RateLimitQueue(limit)) })
    }

    /// How many wait for a host.
    func waitingCount(host: String) -> Int {
        hosts.withLock { $0.withState(of: host, at: EngineInstant(nanoseconds: 0)) { $0.waiters.count } }
    }

    /// Returns when the host may have another request: at once, or when its turn comes.
    ///
    /// - Throws: `CancellationError` in a cancelled task; ``TrellisError`` of kind ``TrellisError/Kind/rateLimited`` where it would
    ///   take too long, or of kind ``TrellisError/Kind/cancelled`` when the session is shut down.
    @inline(never)
    func enter(host: String, _ context: CallContext, _ priority: RequestPriority = .normal) async throws {
        guard let ticket = try ticket(host, priority, context) else { return }
        defer { context.call.record.withLock { $0.wait = nil } }
        try await withTaskCancellationHandler {
            try await withReply { wait(with: $0, ticket, host, priority, context) }
        } onCancel: {
            leave(ticket, host)
        }
    }

    /// What keeps a request waiting, for errors.
    func reasonForWaiting(_ ticket: UInt64, host: String) -> String {
        let count = withHost(host, at: EngineInstant(nanoseconds: 0)) { $0.queue.countAhead(of: ticket) }
        return "the rate limit of \(host) has \(count) other request\(count == 1 ? "" : "s") ahead of it"
    }

    private func withHost<Result>(_ host: String, at now: EngineInstant, _ body: (inout Host) -> Result) -> Result {
        hosts.withLock { $0.withState(of: host, at: now) { body(&$0) } }
    }

    // MARK: Entering

    /// What to wait with; `nil`: there is no need.
    @inline(never)
    private func ticket(_ host: String, _ priority: RequestPriority, _ context: CallContext) throws -> UInt64? {
        let (now, longest) = (context.now, context.remainingTime?.clampedNanoseconds)
        let entry = withHost(host, at: now) {
            $0.queue.enterAtOnce(at: now) ? .admitted : $0.queue.outlook(priority, at: now, longest: longest)
        }
        switch entry {
        case .admitted: return nil
        case .refused(let wait): throw refusal(of: host, wait, context)
        case .waiting(let wait):
            context.call.observer?.tell(.limited(host: host, wait: wait), attempt: context.attempt)
            let ticket = lastTicket.withLock { ticket in
                ticket += 1
                return ticket
            }
            context.call.record.withLock { $0.wait = .rate(self, host: host, ticket: ticket, since: now) }
            return ticket
        }
    }

    /// Enters the queue. Entering and waiting are one, or the turn could come before anybody waits for it.
    @inline(never)
    private func wait(
        with reply: Reply<Void>, _ ticket: UInt64, _ host: String, _ priority: RequestPriority, _ context: CallContext
    ) {
        let (now, longest) = (context.now, context.remainingTime?.clampedNanoseconds)
        let (entry, needsPump) = withHost(host, at: now) { host in
            let entry = host.queue.enter(ticket, priority, at: now, longest: longest)
            guard case .waiting = entry else { return (entry, false) }
            host.waiters[ticket] = Waiter(reply: reply, call: context.call)
            defer { host.hasPump = true }
            return (entry, !host.hasPump)
        }
        switch entry {
        case .admitted: return reply.resume(with: .success(()))
        case .refused(let wait): return reply.resume(with: .failure(refusal(of: host, wait, context)))
        case .waiting: break
        }
        if needsPump { startPump(host, of: context.call, at: now) }
        // It may have been cancelled before there was anybody to leave.
        if Task.isCancelled { leave(ticket, host) }
    }

    private func leave(_ ticket: UInt64, _ host: String) {
        let waiter = withHost(host, at: EngineInstant(nanoseconds: 0)) { host in
            host.queue.leave(ticket)
            return host.waiters.removeValue(forKey: ticket)
        }
        waiter?.reply.resume(with: .failure(CancellationError()))
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

    /// On the pool, and on the clock of one of those who wait. It keeps none of them.
    private func startPump(_ host: String, of call: CallSituation, at now: EngineInstant) {
        Task(executorPreference: globalConcurrentExecutor) { [engine = call.engine, clock = call.deadline.clock] in
            await self.pump(host, engine, clock, at: now)
        }
    }

    /// Wakes those whose turn has come, as long as anybody waits.
    private func pump(
        _ host: String, _ engine: EngineExecutor, _ clock: any EngineClock, at start: EngineInstant
    ) async {
        var (engine, clock, now) = (engine, clock, start)
        while true {
            let (due, turn, next) = withHost(host, at: now) { host in
                let due = host.queue.admit(at: now).compactMap { host.waiters.removeValue(forKey: $0) }
                let turn = host.queue.nextTurn
                host.hasPump = turn != nil
                return (due, turn, host.waiters.first?.value)
            }
            for waiter in due { waiter.reply.resume(with: .success(())) }
            guard let turn, let next else { return }
            (engine, clock) = (next.call.engine, next.call.deadline.clock)
            // Nobody cancels this task.
            if (try? await engine.delay(until: turn)) != true { giveUp(host, engine) }
            now = clock.now()
        }
    }

    /// A session has been shut down: those of its requests that wait have waited in vain.
    private func giveUp(_ host: String, _ engine: EngineExecutor) {
        let waiters = withHost(host, at: EngineInstant(nanoseconds: 0)) { host in
            let gone = host.waiters.filter { $0.value.call.engine === engine }
            for ticket in gone.keys {
                host.queue.leave(ticket)
                host.waiters[ticket] = nil
            }
            return gone.values
        }
        for waiter in waiters { waiter.reply.resume(with: .failure(TrellisError(.cancelled(.sessionShutDown)))) }
    }
}
