import CurlEngine
import TrellisCore

/// A clock that stands still until a test moves it.
///
/// A session made with this clock (``/Trellis/Session/init(configuration:transport:clock:)``) measures all its limits on time and all its
/// pauses with the clock, so a test reaches a limit of an hour at once, at the exact nanosecond:
///
/// ```swift
/// let clock = TestClock()
/// let session = Session(configuration: configuration, transport: transport, clock: clock)
/// let call = Task { try await session.data("http://example.com/") }
/// await clock.waitForSleepers()            // the pause before the second attempt
/// await clock.advance(by: .seconds(2))
/// ```
///
/// ``advance(by:)`` waits for the session before the move and after it, so that the clock never moves before a pause has begun. It cannot
/// know of a call that a task has not made yet. Wait for what the call does: a sleeper (``waitForSleepers(_:)``), an attempt of the
/// transport, or a request at the server.
///
/// The clock is a Swift `Clock` too: a task that a test makes wait for an instant wakes when the clock is moved there.
public final class TestClock: Clock {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public let elapsed: Duration

        /// Creates the instant that is `elapsed` after the making of the clock.
        public init(elapsed: Duration) { self.elapsed = elapsed }

        /// Returns the instant `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }

        /// Returns the time from this instant to `other`.
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }

        /// Returns whether the left instant is before the right one.
        public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
    }

    struct State: Sendable {
        var elapsed = Duration.zero
        /// The instants that tasks await with ``TestClock/sleep(until:tolerance:)``.
        var instants: [Int: Duration] = [:]
        var nextSleeper = 0
        /// The number of pauses of sessions.
        var pauses = 0
        /// The numbers of pauses and limits on waits of calls, by call.
        var waits: [ObjectIdentifier: Int] = [:]
        /// The number of waits of sessions that have begun or ended.
        var version = 0

        /// The number of tasks that wait for a later instant.
        var sleeperCount: Int {
            instants.values.count { $0 > elapsed } + pauses
        }
    }

    let state = LoopbackServer.Waiters(State())
    private let wakes = Locked<[@Sendable () -> Void]>([])
    /// The sessions of the clock, and their calls.
    let followed = Locked(FollowedObjects())

    /// Creates a clock at its beginning.
    public init() {}

    /// The present instant.
    public var now: Instant { Instant(elapsed: state.value.elapsed) }

    /// The resolution of the clock, a nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock was moved to `deadline`.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let sleeper = state.update { state in
            state.nextSleeper += 1
            state.instants[state.nextSleeper] = deadline.elapsed
            return state.nextSleeper
        }
        defer { state.update { $0.instants[sleeper] = nil } }
        try await state.wait { $0.elapsed >= deadline.elapsed }
    }

    /// Moves the clock, and returns when everything that is due has happened. Before and after the move, it waits until every call of the
    /// clock's sessions has a result, or waits for the clock, its peer or another call.
    ///
    /// The peer of a call is at work while the closure of a ``MockTransport``, ``MockRouter`` or ``InProcessTransport`` runs, unless the
    /// closure waits for a clock, a ``LoopbackServer/Gate``, or a call that it makes. So is the source of a body, a resolver, an evaluator,
    /// a selection of proxies, or the refresh of a credential. Nothing is known of a peer on a socket: wait for its event first. A step
    /// that waits for anything but ``/Trellis/CallContext/wait(for:)`` looks like one that works. What looks like work is waited for at
    /// most five seconds of the system's time. Returns early in a cancelled task.
    ///
    /// - Parameter duration: The time to move the clock by, which must not be negative.
    public func advance(by duration: Duration) async {
        await settle()
        move(by: duration)
        await settle()
    }

    /// Moves the clock at once, and waits for nothing: what is due then happens on the sessions' own threads. For code that is not `async`,
    /// and for tests of a race with the clock. ``advance(by:)`` is the one to begin with.
    ///
    /// - Parameter duration: The time to move the clock by, which must not be negative.
    public func move(by duration: Duration) {
        precondition(duration >= .zero, "a test clock cannot go back: the duration must not be negative")
        state.update { $0.elapsed += duration }
        for wake in wakes.withLock({ $0 }) { wake() }
    }

    /// Waits until a number of tasks wait for an instant of the clock: in a pause before an attempt, for their turn at a rate limit, in the
    /// pause before a stream or socket is opened again, or in ``sleep(until:tolerance:)``. Limits on time, such as
    /// ``/Trellis/Timeouts``, are no sleepers.
    ///
    /// Returns early in a cancelled task, for example at the test's `.timeLimit`.
    ///
    /// - Parameter count: The number of tasks. The default is 1.
    public func waitForSleepers(_ count: Int = 1) async {
        try? await state.wait { $0.sleeperCount >= count }
    }

    /// Adds a closure to call each time that the clock is moved.
    func onAdvance(_ wake: @escaping @Sendable () -> Void) { wakes.withLock { $0.append(wake) } }
}

extension TestClock {
    /// Waits until the clock was moved by a duration.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    package func pause(for duration: Duration) async throws { try await sleep(until: now.advanced(by: duration)) }
}
