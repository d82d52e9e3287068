import CurlEngine

/// A limit at which calls wait for their turn.
protocol WaitingLimit: AnyObject, Sendable {
    /// Returns the event of a request that waits for its turn.
    func waitEvent(at host: String, for wait: Duration) -> RequestEvent.Kind
    /// Returns the error of a request that would wait for too long.
    func refusal(of host: String, _ wait: Duration, _ context: CallContext) -> TrellisError
    /// Returns the reason why a request waits, for errors.
    func reasonForWaiting(_ ticket: UInt64, host: String) -> String
    /// Returns whether the next turn at a host comes with the clock, and not with the end of another request.
    func isTurnTimed(at host: String) -> Bool
}

/// The queues of a limit by host, with their waiters and the tasks that wake them.
final class LimitQueues<Limit: HostLimit>: Sendable {
    /// A call that waits for its turn, with the reply that resumes it.
    private struct Waiter {
        let reply: Reply<Int>
        let call: Call
        /// The limit, whose wait for the clock is the wait of its calls.
        let owner: any WaitingLimit

        /// Takes note that the call waits no more, before its task runs: a test clock must not move until then.
        func forget() { call.record.withLock { $0.wait = nil } }
    }

    /// The timer and the clock of a waiter's session.
    private struct Timer {
        let engine: EngineExecutor
        let clock: any EngineClock
        let session: ObjectIdentifier
        let owner: any WaitingLimit

        init(_ waiter: Waiter) {
            engine = waiter.call.sender?.freeEngine ?? waiter.call.engine
            clock = waiter.call.deadline.clock
            session = Self.session(of: waiter.call)
            owner = waiter.owner
        }

        static func session(of call: Call) -> ObjectIdentifier { ObjectIdentifier(call.sender ?? call.engine) }
    }

    /// The task that wakes the waiters whose turn has arrived.
    private struct Pump {
        let task: Task<Void, Never>
        /// The number of the task, which distinguishes it from earlier ones.
        let number: Int
        /// The turn that the task waits for.
        var turn: EngineInstant
    }

    /// The queue of one host, with its waiters and the task that wakes them.
    private struct Host: HostState {
        var queue: LimitQueue<UInt64, Limit>
        var waiters: [UInt64: Waiter] = [:]
        var pump: Pump?
        var lastPump = 0

        /// The waiter with the next turn.
        var next: Waiter? { queue.next.flatMap { waiters[$0] } }

        /// Removes the pump, and returns its task, to be cancelled outside the lock.
        mutating func takePump() -> Task<Void, Never>? {
            defer { pump = nil }
            return pump?.task
        }

        /// Admits the waiters whose turn has arrived. Returns them with their tokens, to be resumed outside the lock.
        mutating func admit(at now: EngineInstant) -> [(Waiter, Int)] {
            guard queue.next != nil else { return [] }
            let admitted = queue.admit(at: now)
            let first = queue.lastToken - admitted.count
            return admitted.enumerated().compactMap { index, ticket in
                guard let waiter = waiters.removeValue(forKey: ticket) else { return nil }
                waiter.forget()
                return (waiter, first + index + 1)
            }
        }

        mutating func isForgettable(at now: EngineInstant) -> Bool { pump == nil && queue.isForgettable(at: now) }
    }

    /// The result of asking for a turn.
    private enum Entrance {
        case admitted(token: Int)
        case waiting(ticket: UInt64)
    }

    private let hosts: Locked<HostTable<Host>>
    private let lastTicket = Locked<UInt64>(0)

    /// Creates queues without waiters.
    ///
    /// - Parameter make: Makes the limit of a new host.
    init(_ make: @escaping @Sendable () -> Limit) {
        hosts = Locked(HostTable { Host(queue: LimitQueue(make())) })
    }

    // MARK: The state of a host

    /// Returns what a closure reads from the queue of a host.
    func reading<Result>(_ host: String, _ body: (LimitQueue<UInt64, Limit>) -> Result) -> Result {
        withHost(host, at: EngineInstant(nanoseconds: 0)) { body($0.queue) }
    }

    /// Returns what a closure reads from the queue of each host, in no order.
    func readingAll<Result>(_ body: (_ host: String, LimitQueue<UInt64, Limit>) -> Result) -> [Result] {
        hosts.withLock { $0.map { body($0, $1.queue) } }
    }

    /// Returns whether a task waits for the next turn at a host.
    func hasPump(host: String) -> Bool { withHost(host, at: EngineInstant(nanoseconds: 0)) { $0.pump != nil } }

    /// Changes the limit of a host, and wakes the waiters whose turn has arrived with that.
    func change<Result>(_ host: String, at now: EngineInstant, _ body: (inout Limit) -> Result) -> Result {
        let (result, due, replaced) = withHost(host, at: now) { state in
            let result = body(&state.queue.limit)
            let due = state.admit(at: now)
            guard let turn = state.queue.nextTurn else { return (result, due, state.takePump()) }
            if let pump = state.pump, pump.turn <= turn { return (result, due, nil) }
            let replaced = state.takePump()
            startPump(&state, host, at: now)
            return (result, due, replaced)
        }
        replaced?.cancel()
        resume(due)
        return result
    }

    private func withHost<Result>(_ host: String, at now: EngineInstant, _ body: (inout Host) -> Result) -> Result {
        hosts.withLock { $0.withState(of: host, at: now) { body(&$0) } }
    }

    private func resume(_ due: [(waiter: Waiter, token: Int)]) {
        for (waiter, token) in due { waiter.reply.resume(with: .success(token)) }
    }

    // MARK: Entering

    /// Waits until the host may get another request: not at all, or until the turn of the request.
    ///
    /// - Returns: The token of the request.
    /// - Throws: `CancellationError` in a cancelled task; the owner's error if the wait would be too long; ``TrellisError`` of
    ///   kind ``TrellisError/Kind/cancelled`` when the session is shut down.
    func enter(
        host: String, of owner: any WaitingLimit, _ context: CallContext, _ priority: RequestPriority
    ) async throws -> Int {
        switch try entrance(to: host, of: owner, priority, context) {
        case .admitted(let token): return token
        case .waiting(let ticket):
            return try await withTaskCancellationHandler {
                try await withReply { reply in
                    let waiter = Waiter(reply: reply, call: context.call, owner: owner)
                    wait(waiter, ticket: ticket, host: host, priority: priority, context)
                }
            } onCancel: {
                leave(ticket, host)
            }
        }
    }

    @inline(never)
    private func entrance(
        to host: String, of owner: any WaitingLimit, _ priority: RequestPriority, _ context: CallContext
    ) throws -> Entrance {
        let (now, longest) = (context.now, context.remainingTime?.clampedNanoseconds)
        let (entry, token) = withHost(host, at: now) {
            let isAdmitted = $0.queue.enterAtOnce(at: now)
            return (isAdmitted ? .admitted : $0.queue.outlook(priority, at: now, longest: longest), $0.queue.lastToken)
        }
        switch entry {
        case .admitted: return .admitted(token: token)
        case .refused(let wait): throw owner.refusal(of: host, wait, context)
        case .waiting(let wait):
            if let observer = context.call.observer {
                observer.tell(owner.waitEvent(at: host, for: wait), attempt: context.attempt)
            }
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
        _ waiter: Waiter, ticket: UInt64, host: String, priority: RequestPriority, _ context: CallContext
    ) {
        let (now, longest) = (context.now, context.remainingTime?.clampedNanoseconds)
        let (entry, token) = withHost(host, at: now) { state in
            let entry = state.queue.enter(ticket, priority, at: now, longest: longest)
            if case .waiting = entry {
                state.waiters[ticket] = waiter
                waiter.call.record.withLock { $0.wait = .turn(waiter.owner, host: host, ticket: ticket, since: now) }
                if state.pump == nil, state.queue.nextTurn != nil { startPump(&state, host, at: now) }
            }
            return (entry, state.queue.lastToken)
        }
        switch entry {
        case .admitted: return waiter.reply.resume(with: .success(token))
        case .refused(let wait):
            return waiter.reply.resume(with: .failure(waiter.owner.refusal(of: host, wait, context)))
        case .waiting: break
        }
        // The task may have been cancelled before its waiter was in the queue.
        if Task.isCancelled { leave(ticket, host) }
    }

    private func leave(_ ticket: UInt64, _ host: String) {
        let (waiter, pump) = withHost(host, at: EngineInstant(nanoseconds: 0)) { host in
            host.queue.leave(ticket)
            let waiter = host.waiters.removeValue(forKey: ticket)
            waiter?.forget()
            // The next turn may be far off, and no waiter is left for it.
            return (waiter, host.waiters.isEmpty ? host.takePump() : nil)
        }
        pump?.cancel()
        waiter?.reply.resume(with: .failure(CancellationError()))
    }

    // MARK: Waking

    /// Starts the pump on the pool, which retains none of the waiters.
    private func startPump(_ state: inout Host, _ host: String, at now: EngineInstant) {
        guard let turn = state.queue.nextTurn else { return }
        state.lastPump += 1
        let number = state.lastPump
        let task = Task(executorPreference: globalConcurrentExecutor) { await self.pump(number, host, at: now) }
        state.pump = Pump(task: task, number: number, turn: turn)
    }

    /// Wakes the waiters whose turn has arrived, as long as there are waiters whose turns come with the clock.
    private func pump(_ number: Int, _ host: String, at start: EngineInstant) async {
        var now = start
        while let (turn, timer) = wake(number, host, at: now) {
            do {
                guard try await timer.engine.delay(until: turn, of: timer.owner) else {
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
    /// is empty or has no room, or another pump has taken over.
    private func wake(_ number: Int, _ host: String, at now: EngineInstant) -> (EngineInstant, Timer)? {
        let (due, next) = withHost(host, at: now) { state -> ([(Waiter, Int)], (EngineInstant, Waiter)?) in
            guard state.pump?.number == number else { return ([], nil) }
            let due = state.admit(at: now)
            guard let turn = state.queue.nextTurn, let next = state.next else {
                state.pump = nil
                return (due, nil)
            }
            state.pump?.turn = turn
            return (due, (turn, next))
        }
        resume(due)
        return next.map { ($0.0, Timer($0.1)) }
    }

    /// Fails the waiters of a session that has been shut down.
    private func giveUp(_ host: String, _ timer: Timer) {
        let waiters = withHost(host, at: EngineInstant(nanoseconds: 0)) { host in
            let gone = host.waiters.filter { Timer.session(of: $0.value.call) == timer.session }
            for (ticket, waiter) in gone {
                host.queue.leave(ticket)
                host.waiters[ticket] = nil
                waiter.forget()
            }
            return gone.values
        }
        for waiter in waiters { waiter.reply.resume(with: .failure(TrellisError(.cancelled(.sessionShutDown)))) }
    }
}
