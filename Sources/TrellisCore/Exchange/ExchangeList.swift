import CurlEngine
import Synchronization

/// The exchanges that began on one engine and have not ended, with the replies to the tasks that wait for them. Any thread may use the
/// list, so that these tasks can be resumed although an engine is stuck.
///
/// A reply is used by the thread that takes it from the list: by the engine, when the exchange has a result, or by another thread, when the
/// exchange must end and its engine is stuck. For the second case the list has a timer of its own, because the timers of an engine that is
/// stuck do not fire.
final class ExchangeList: Sendable {
    /// An exchange with the replies to the tasks that wait for it.
    private struct Entry {
        let exchange: ExchangeActor
        /// The instant of the limit in total, in nanoseconds; the highest number if there is none.
        var deadline: UInt64
        var collected: Reply<CollectedResponse>?
        var head: Reply<Response>?
        /// The properties that few exchanges have.
        private var rare: Rare?

        /// The replies to further tasks that wait for the complete response.
        var others: [Reply<CollectedResponse>] {
            get { rare?.others ?? [] }
            set { rare = Rare(others: newValue, ending: ending) }
        }
        /// The error with which the exchange must end.
        var ending: (any Error)? {
            get { rare?.ending }
            set { rare = Rare(others: others, ending: newValue) }
        }

        var isAwaited: Bool { collected != nil || head != nil }

        init(
            _ exchange: ExchangeActor, deadline: UInt64, collected: Reply<CollectedResponse>?, head: Reply<Response>?
        ) {
            self.exchange = exchange
            self.deadline = deadline
            self.collected = collected
            self.head = head
        }
    }

    /// The properties of an entry that few exchanges have.
    private final class Rare: Sendable {
        let others: [Reply<CollectedResponse>]
        let ending: (any Error)?

        init(others: [Reply<CollectedResponse>], ending: (any Error)?) {
            self.others = others
            self.ending = ending
        }
    }

    private struct State {
        var entries: [Entry] = []
        /// The instant of the next look, in nanoseconds; the highest number if none is due.
        var nextLook = UInt64.max
        /// The task that waits for the next look, and its number.
        var watch: (task: Task<Void, Never>, number: Int)?

        /// Returns the position of an exchange; `nil` if it is not in the list.
        func position(of exchange: ExchangeActor) -> Int? {
            let position = exchange.listPosition
            return position >= 0 ? position : nil
        }

        mutating func remove(_ exchange: ExchangeActor) {
            guard let position = position(of: exchange) else { return }
            exchange.listPosition = -1
            let last = entries.removeLast()
            guard position < entries.count else { return }
            last.exchange.listPosition = position
            entries[position] = last
        }
    }

    /// The time between two looks at an engine. An engine counts as stuck after the same time.
    private static let interval = Duration.milliseconds(100)

    private let clock: any EngineClock
    private let state = Locked(State())

    init(clock: any EngineClock) {
        self.clock = clock
        // Only a clock that is set by hand calls this. A weak reference, once made, slows down every other reference.
        if !(clock is MonotonicClock) { clock.onAdvance { [weak self] in self?.clockWasSet() } }
    }

    // MARK: Exchanges

    /// The exchanges that have not ended, in no particular order.
    var all: [ExchangeActor] { state.withLock { $0.entries.map(\.exchange) }.filter { !$0.isEnded } }

    /// Adds an exchange that begins, or a reply to an exchange of the list.
    ///
    /// - Parameter start: The instant from which the limit in total is measured; `nil` if it is not known yet.
    /// - Returns: The error for the reply if the exchange was abandoned. The reply is not in the list then.
    @inline(never)
    func add(
        _ exchange: ExchangeActor, from start: EngineInstant?, collecting collected: Reply<CollectedResponse>? = nil,
        awaitingHead head: Reply<Response>? = nil
    ) -> (any Error)? {
        var deadline = UInt64.max
        if let start, let total = exchange.prepared.limits.total {
            deadline = start.advanced(byNanoseconds: total).nanoseconds
        }
        return state.withLock { state in
            if deadline < state.nextLook { look(at: deadline, &state) }
            guard let position = state.position(of: exchange) else {
                if exchange.wasAbandoned.load(ordering: .relaxed) { return CancellationError() }
                exchange.listPosition = state.entries.count
                state.entries.append(Entry(exchange, deadline: deadline, collected: collected, head: head))
                if exchange.wasCancelledEarly.load(ordering: .relaxed) {
                    _ = end(exchange.listPosition, with: CancellationError(), &state)
                }
                return nil
            }
            return Self.add(collected, head, deadline, to: &state.entries[position])
        }
    }

    @inline(never)
    private static func add(
        _ collected: Reply<CollectedResponse>?, _ head: Reply<Response>?, _ deadline: UInt64, to entry: inout Entry
    ) -> (any Error)? {
        if entry.exchange.wasAbandoned.load(ordering: .relaxed) { return entry.ending }
        entry.deadline = min(entry.deadline, deadline)
        if let head { entry.head = head }
        guard let collected else { return nil }
        if entry.collected == nil { entry.collected = collected } else { entry.others.append(collected) }
        return nil
    }

    /// Removes an exchange. Returns whether its replies are the caller's to use; `false` if the exchange was abandoned.
    @inline(never)
    @discardableResult
    func remove(_ exchange: ExchangeActor) -> Bool {
        state.withLock { state in
            state.remove(exchange)
            return !exchange.wasAbandoned.load(ordering: .relaxed)
        }
    }

    /// Takes the reply for the head of an exchange from the list. Returns `false` if the exchange was abandoned.
    func takeHead(of exchange: ExchangeActor) -> Bool {
        state.withLock { state in
            if let position = state.position(of: exchange) { state.entries[position].head = nil }
            return !exchange.wasAbandoned.load(ordering: .relaxed)
        }
    }

    /// Returns whether a task waits for an exchange.
    func isAwaited(_ exchange: ExchangeActor) -> Bool {
        state.withLock { state in state.position(of: exchange).map { state.entries[$0].isAwaited } ?? false }
    }

    // MARK: Engines that are stuck

    /// Lets the tasks that wait for an exchange continue with an error as soon as the engine of the exchange is found to be stuck. The
    /// exchange itself is cancelled by the caller.
    func end(_ exchange: ExchangeActor, with error: any Error) {
        let isEnding = state.withLock { state in
            if let position = state.position(of: exchange) { return end(position, with: error, &state) }
            exchange.wasCancelledEarly.store(true, ordering: .relaxed)
            return false
        }
        if isEnding, exchange.executor.isStuck { abandon(exchange) }
    }

    /// Does the same as ``end(_:with:)`` for all exchanges. Those that wait for a slot do not start any more.
    func endAll(with error: any Error) {
        let exchanges = state.withLock { state in
            state.entries.indices.filter { end($0, with: error, &state) }.map { state.entries[$0].exchange }
        }
        for exchange in exchanges where exchange.executor.isStuck { abandon(exchange) }
    }

    private func end(_ position: Int, with error: any Error, _ state: inout State) -> Bool {
        state.entries[position].exchange.mustEnd.store(true, ordering: .sequentiallyConsistent)
        guard state.entries[position].isAwaited else { return false }
        state.entries[position].ending = error
        let soon = clock.now().advanced(by: Self.interval).nanoseconds
        if soon < state.nextLook { look(at: soon, &state) }
        return true
    }

    /// Resumes the tasks that wait for an exchange with an error. The exchange ends when its engine runs again.
    private func abandon(_ exchange: ExchangeActor) {
        let entry = state.withLock { state -> Entry? in
            guard let position = state.position(of: exchange), state.entries[position].isAwaited else { return nil }
            let entry = state.entries[position]
            exchange.wasAbandoned.store(true, ordering: .releasing)
            exchange.mustEnd.store(true, ordering: .sequentiallyConsistent)
            state.entries[position].collected = nil
            state.entries[position].head = nil
            state.entries[position].others = []
            return entry
        }
        guard let entry else { return }
        let error = exchange.completed(entry.ending ?? CancellationError(), at: clock.now())
        entry.head?.resume(with: .failure(error))
        entry.collected?.resume(with: .failure(error))
        for reply in entry.others { reply.resume(with: .failure(error)) }
    }

    // MARK: Looks at the engines

    /// Ends the looks at the engines.
    func stopLooking() {
        state.withLock { state in
            state.watch?.task.cancel()
            state.watch = nil
            state.nextLook = .max
        }
    }

    /// Looks at the engines at an instant. There is one task for all exchanges, which sleeps until the first limit in total.
    @inline(never)
    private func look(at instant: UInt64, _ state: inout State) {
        let now = clock.now().nanoseconds
        state.nextLook = instant
        state.watch?.task.cancel()
        let number = (state.watch?.number ?? 0) &+ 1
        let wait = Duration.nanoseconds(Int64(clamping: instant > now ? instant - now : 0))
        // Detached, because the task keeps neither the priority nor the task-local values of the first caller.
        let task = Task.detached(executorPreference: globalConcurrentExecutor) { await self.watch(number, after: wait) }
        state.watch = (task, number)
    }

    private func clockWasSet() {
        state.withLock { state in
            guard state.watch != nil else { return }
            look(at: min(state.nextLook, clock.now().nanoseconds), &state)
        }
    }

    private func watch(_ number: Int, after wait: Duration) async {
        var next: Duration? = wait
        while let wait = next {
            do { try await Task.sleep(for: wait) } catch { return }
            next = look(number)
        }
    }

    /// Resumes the tasks whose exchanges had to end at the last look, and which wait for an engine that is stuck. Returns the time until
    /// the next look; `nil` if there is none.
    private func look(_ number: Int) -> Duration? {
        let ending = state.withLock { state in
            state.entries.filter { $0.ending != nil && $0.isAwaited }.map(\.exchange)
        }
        for exchange in ending where exchange.executor.isStuck { abandon(exchange) }
        let now = clock.now().nanoseconds
        return state.withLock { state in
            guard state.watch?.number == number else { return nil }
            var next = UInt64.max
            for index in state.entries.indices where state.entries[index].isAwaited {
                if state.entries[index].deadline <= now, state.entries[index].ending == nil {
                    state.entries[index].ending = TrellisError(.timedOut(.total))
                }
                next = min(next, state.entries[index].ending == nil ? state.entries[index].deadline : now)
            }
            state.nextLook = next
            guard next < .max else {
                state.watch = nil
                return nil
            }
            let wait = Duration.nanoseconds(Int64(clamping: next > now ? next - now : 0))
            guard wait < Self.interval else { return wait }
            state.nextLook = EngineInstant(nanoseconds: now).advanced(by: Self.interval).nanoseconds
            return Self.interval
        }
    }
}

extension ExchangeActor {
    /// Returns the error of the exchange for tasks that do not wait for its end. The progress of a request that has started is not known:
    /// it may have been sent.
    fileprivate nonisolated func completed(_ error: any Error, at now: EngineInstant) -> any Error {
        guard var error = error as? TrellisError, error.method == nil else { return error }
        error.method = prepared.method
        error.url = URLRedaction.redact(prepared.url)
        error.phase = hasStarted.load(ordering: .sequentiallyConsistent) ? .sending : .queued
        error.detail = "the engine thread of the request is blocked"
        error.followed = prepared.history?.redirects ?? []
        error.metrics.callID = prepared.callID
        error.metrics.attemptCount = prepared.history?.attempt ?? 1
        error.metrics.totalTime = now.nanoseconds(since: prepared.start)
        if error.isTimeout { error.metrics.totalTime = Int64(clamping: prepared.limits.total ?? 0) }
        if error.phase == .queued { error.metrics.queuedTime = error.metrics.totalTime }
        return error
    }
}
