private import CurlEngine

/// A clock that stands still until a test moves it.
///
/// A session made with this clock (``Trellis/Session/init(configuration:transport:clock:)``, or with libcurl
/// ``Trellis/Session/init(configuration:clock:)``) measures all its limits on time with the clock, and so a test reaches a limit of an
/// hour at once, at the exact nanosecond:
///
/// ```swift
/// let clock = TestClock()
/// let session = Session(transport: transport, clock: clock)
/// async let answer = session.data("http://example.com/")
/// let attempt = try await transport.nextAttempt()
/// clock.advance(by: .seconds(10))  // the default limit on connecting
/// ```
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

    /// A closure that is called when the clock was moved.
    typealias Wake = @Sendable () -> Void

    private let time = LoopbackServer.Waiters(Duration.zero)
    private let wakes = Locked<[Wake]>([])

    /// Creates a clock at its beginning.
    public init() {}

    /// The present instant.
    public var now: Instant { Instant(elapsed: time.value) }

    /// The resolution of the clock, a nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock was moved to `deadline`.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await time.wait { $0 >= deadline.elapsed }
    }

    /// Moves the clock. Returns at once: the events that are due then happen on the sessions' own threads.
    ///
    /// - Parameter duration: The time to move the clock by, which must not be negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a test clock cannot go back: the duration must not be negative")
        time.update { $0 += duration }
        for wake in wakes.withLock({ $0 }) { wake() }
    }

    /// Adds a closure to call each time that the clock is moved.
    func onAdvance(_ wake: @escaping Wake) { wakes.withLock { $0.append(wake) } }
}

extension TestClock {
    /// Waits until the clock was moved by a duration.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    package func pause(for duration: Duration) async throws { try await sleep(until: now.advanced(by: duration)) }
}
