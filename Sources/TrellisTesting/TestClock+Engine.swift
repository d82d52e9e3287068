package import CurlEngine
public import TrellisCore

extension TestClock: SessionClock {
    /// The clock as a session's engine sees it.
    package final class EngineSide: EngineClock {
        private let clock: TestClock

        fileprivate init(_ clock: TestClock) { self.clock = clock }

        /// Returns the present instant. The engine's time line begins a while before the clock's, so that no instant is zero.
        package func now() -> EngineInstant {
            EngineInstant(nanoseconds: 1_000_000_000).advanced(by: clock.now.elapsed)
        }

        /// Returns zero for a deadline that has passed. Any other deadline has no sleep (`nil`), because the engine waits until the
        /// test advances the clock.
        package func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
            deadline <= now ? 0 : nil
        }

        /// Calls `wake` after each advance of the clock.
        package func onAdvance(_ wake: @escaping @Sendable () -> Void) { clock.onAdvance(wake) }

        /// Adds a session or a call to the ones that ``TestClock/advance(by:)`` waits for.
        package func follow(_ object: any AnyObject & Sendable) {
            if let call = object as? Call { ClockWork.current?.note(call.id) }
            clock.followed.withLock { $0.add(object) }
        }

        /// Counts a wait for an instant of the clock.
        package func noteWait(of call: (any AnyObject & Sendable)?, isLimit: Bool, begins: Bool) {
            let (key, difference) = (call.map { ObjectIdentifier($0) }, begins ? 1 : -1)
            clock.state.update { state in
                if !isLimit { state.pauses += difference }
                if let key {
                    let count = state.waits[key, default: 0] + difference
                    state.waits[key] = count == 0 ? nil : count
                }
                state.version += 1
            }
        }

        /// Adds to the tasks that ``TestClock/advance(by:)`` waits for.
        package func beginWork(for number: UInt64) -> ClockWork? { ClockWork(for: number) }
    }

    /// The clock as a session's engine sees it.
    package var engineSide: any EngineClock { EngineSide(self) }
}

/// The sessions of a clock, and their calls, as long as others keep them.
struct FollowedObjects: Sendable {
    private struct Entry: Sendable { weak var object: (any AnyObject & Sendable)? }

    private var sessions: [Entry] = []
    private var entries: [Entry] = []
    /// The number of calls at which the released ones are forgotten.
    private var limit = 64
    /// The number of objects that were added.
    private(set) var count = 0

    mutating func add(_ object: any AnyObject & Sendable) {
        count += 1
        if object is Session { return sessions.append(Entry(object: object)) }
        if entries.count >= limit {
            entries.removeAll { $0.object == nil }
            limit = max(64, 2 * entries.count)
        }
        entries.append(Entry(object: object))
    }

    var liveSessions: [Session] { sessions.compactMap { $0.object as? Session } }
    var liveCalls: [any AnyObject & Sendable] { entries.compactMap(\.object) }
}

extension TestClock {
    /// The longest time for which a call that does not wait is waited for, because a step of the user's may wait for anything.
    private static let patience = Duration.seconds(5)

    /// Waits until every call of the clock's sessions waits.
    ///
    /// A peer may have sent something and come to rest while a session was looked at. The session then has it when it is looked at again.
    func settle() async {
        let end = ContinuousClock.now + Self.patience
        var last: Rest?
        while !Task.isCancelled, ContinuousClock.now < end {
            let rest = await rest()
            if rest != nil, rest == last { return }
            last = rest
            await Task.yield()
        }
    }

    /// What does not change while every call waits.
    struct Rest: Hashable {
        var exchanges: [SessionEngines.ExchangeCounts] = []
        var calls: Int
        var waits: Int
    }

    /// Returns the state of the sessions if every call waits, and `nil` if one does not.
    func rest() async -> Rest? {
        let sessions = followed.withLock { $0.liveSessions }
        for session in sessions { await session.engines.settle() }
        let (calls, callCount) = followed.withLock { ($0.liveCalls, $0.count) }
        let underWay = Set(calls.compactMap { ($0 as? Call).flatMap { $0.isUnderWay ? $0.id : nil } })
        let state = state.value
        // A task whose instant has come is about to continue.
        guard state.instants.values.allSatisfy({ $0 > state.elapsed }) else { return nil }
        var rest = Rest(calls: callCount, waits: state.version)
        for session in sessions {
            guard
                let exchanges = session.engines.countsIfQuiet(
                    of: session, calls, waits: state.waits,
                    isWorkAtRest: { ClockWork.isAtRest(for: $0, beside: underWay) })
            else { return nil }
            rest.exchanges.append(exchanges)
        }
        return rest
    }
}

extension Session {
    /// Waits until the session has handled everything that had reached it before the call: events of its transport, calls of its
    /// handles, and the time limits that were due.
    public func settle() async {
        // Before an engine has started, nothing below suspends. A loop of calls would keep the pool's only thread.
        await Task.yield()
        await engines.settle()
    }
}
