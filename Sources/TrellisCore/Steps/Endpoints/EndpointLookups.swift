import CurlEngine

/// The look-ups of the addresses of a name, which are the endpoints of an origin.
final class EndpointLookups: EndpointFeed {
    private struct State {
        var isUnderWay = false
        /// The instant of the last answer with addresses; `nil` before the first.
        var last: EngineInstant?
        /// The instant from which on the name is looked up again.
        var due = EngineInstant(nanoseconds: 0)
        var failures = 0
        var task: Task<Void, Never>?
        var hasEnded = false
    }

    private let interval: Duration
    private let clock: any EngineClock
    private let lookUp: @Sendable () async throws -> [Endpoint]
    private let state = Locked(State())

    /// - Parameter lookUp: Returns the endpoints at the addresses of the name.
    init(every interval: Duration, clock: any EngineClock, lookUp: @escaping @Sendable () async throws -> [Endpoint]) {
        self.interval = interval
        self.clock = clock
        self.lookUp = lookUp
    }

    func update(_ group: EndpointGroup, at now: EngineInstant) -> Bool {
        let (begins, mustWait) = state.withLock { state in
            let begins = !state.isUnderWay && !state.hasEnded && state.due <= now
            if begins { state.isUnderWay = true }
            let isOld = state.last.map { $0.advanced(by: interval * 2) <= now } ?? true
            return (begins, state.isUnderWay && isOld)
        }
        if begins { begin(group) }
        return mustWait
    }

    private func begin(_ group: EndpointGroup) {
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            do {
                let endpoints = try await lookUp()
                end(at: clock.now(), hasFailed: false)
                group.replace(by: endpoints)
            } catch {
                end(at: clock.now(), hasFailed: true)
                group.fail(error)
            }
        }
        let isWanted = state.withLock { state in
            if state.isUnderWay { state.task = task }
            return !state.hasEnded
        }
        if !isWanted { task.cancelOffEngine() }
    }

    /// Records the end of a look-up. After a failure, the next one comes earlier.
    private func end(at now: EngineInstant, hasFailed: Bool) {
        state.withLock { state in
            (state.isUnderWay, state.task) = (false, nil)
            state.failures = hasFailed ? state.failures + 1 : 0
            if !hasFailed { state.last = now }
            let pause = hasFailed ? Duration.seconds(1).backoff(after: state.failures, upTo: interval) : interval
            state.due = now.advanced(by: pause)
        }
    }

    func end() {
        let task = state.withLock { state in
            state.hasEnded = true
            return state.task.take()
        }
        task?.cancelOffEngine()
    }
}
