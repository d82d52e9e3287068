import CurlEngine

/// Holds requests up until their host may have another one: the ``RateLimit`` of a session, with a queue for each host.
final class RateLimiter: Sendable {
    private enum Ending {
        case admitted
        case refused(Duration)
        case cancelled
    }

    private typealias Waiter = CheckedContinuation<Ending, Never>

    private struct Host: HostState {
        var queue: RateLimitQueue<UInt64>
        var waiters: [UInt64: Waiter] = [:]
        /// Whose task was cancelled before they came to wait.
        var cancelled: Set<UInt64> = []
        /// Somebody wakes those whose turn has come.
        var hasPump = false

        func isForgettable(at now: EngineInstant) -> Bool {
            !hasPump && cancelled.isEmpty && queue.isForgettable(at: now)
        }
    }

    private let limit: RateLimit
    private let clock: any EngineClock
    private let pause: @Sendable (Duration) async throws -> Void
    private let hosts: Locked<HostTable<Host>>
    private let lastID = Locked<UInt64>(0)

    /// - Parameters:
    ///   - clock: What the rate is measured with.
    ///   - pause: Waits on that clock. Where it throws, everybody who waits gets a `CancellationError`.
    init(
        _ limit: RateLimit, clock: any EngineClock = MonotonicClock(),
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.limit = limit
        self.clock = clock
        self.pause = pause
        hosts = Locked(HostTable { Host(queue: RateLimitQueue(limit)) })
    }

    /// How many wait for a host.
    func waitingCount(host: String) -> Int { withHost(host) { host, _ in host.waiters.count } }

    /// Returns when the host may have another request: at once, or when its turn comes.
    ///
    /// - Throws: `CancellationError` in a cancelled task, and ``TrellisError/LimitFailure/rate(host:wait:maximumWait:)`` where it
    ///   would take too long.
    func enter(host: String) async throws {
        if withHost(host, { $0.queue.enterAtOnce(at: $1) }) { return }
        let id = lastID.withLock { id in
            id += 1
            return id
        }
        switch await wait(id, host) {
        case .admitted: return
        case .cancelled: throw CancellationError()
        case .refused(let wait):
            throw TrellisError(
                .limited(.rate(host: host, wait: wait, maximumWait: limit.maximumWait ?? .zero)))
        }
    }

    private func withHost<Result>(_ host: String, _ body: (inout Host, EngineInstant) -> Result) -> Result {
        let now = clock.now()
        return hosts.withLock { $0.withState(of: host, at: now) { body(&$0, now) } }
    }

    // MARK: Waiting

    private func wait(_ id: UInt64, _ host: String) async -> Ending {
        defer { withHost(host) { host, _ in _ = host.cancelled.remove(id) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (ending, needsPump) = withHost(host) { Self.begin(id, waiter, &$0, at: $1) }
                if let ending { waiter.resume(returning: ending) }
                if needsPump { Task { await pump(host) } }
            }
        } onCancel: {
            let waiter = withHost(host) { host, _ in
                host.queue.leave(id)
                let waiter = host.waiters.removeValue(forKey: id)
                if waiter == nil { host.cancelled.insert(id) }
                return waiter
            }
            waiter?.resume(returning: .cancelled)
        }
    }

    /// Enters the queue. Entering and waiting are one, or the turn could come before anybody waits for it.
    private static func begin(
        _ id: UInt64, _ waiter: Waiter, _ host: inout Host, at now: EngineInstant
    ) -> (ending: Ending?, needsPump: Bool) {
        guard !host.cancelled.contains(id) else { return (.cancelled, false) }
        switch host.queue.enter(id, at: now) {
        case .admitted: return (.admitted, false)
        case .refused(let wait): return (.refused(wait), false)
        case .waiting:
            host.waiters[id] = waiter
            defer { host.hasPump = true }
            return (nil, !host.hasPump)
        }
    }

    // MARK: Waking

    /// Wakes those whose turn has come, as long as anybody waits.
    private func pump(_ host: String) async {
        while true {
            let (due, pause) = withHost(host) { host, now in
                let due = host.queue.admit(at: now).compactMap { host.waiters.removeValue(forKey: $0) }
                host.hasPump = host.queue.nextTurn != nil
                return (due, host.queue.nextTurn.map { Duration.nanoseconds($0.nanoseconds(since: now)) })
            }
            for waiter in due { waiter.resume(returning: .admitted) }
            guard let pause else { return }
            do { try await self.pause(pause) } catch { return giveUp(host) }
        }
    }

    private func giveUp(_ host: String) {
        let waiters = withHost(host) { host, _ in
            for id in host.waiters.keys { host.queue.leave(id) }
            defer { host.waiters = [:] }
            host.hasPump = false
            return host.waiters.values
        }
        for waiter in waiters { waiter.resume(returning: .cancelled) }
    }
}
