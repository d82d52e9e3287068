private import CurlEngine

/// A clock that stands still until a test moves it.
///
/// A session made with it (``Trellis/Session/init(configuration:transport:clock:)``) measures all its limits on time with it,
/// and so a test reaches a limit of an hour at once, at the exact nanosecond:
///
/// ```swift
/// let clock = TestClock()
/// let session = Session(transport: transport, clock: clock)
/// async let answer = session.data("http://example.com/")
/// let attempt = try await transport.nextAttempt()
/// clock.advance(by: .seconds(10))  // the default limit on connecting
/// ```
///
/// It is a Swift `Clock` too: what a test makes wait for an instant of it wakes when the clock is moved there.
public final class TestClock: Clock {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol {
        /// Since the clock was made.
        public let elapsed: Duration

        /// The instant so long after the clock was made.
        public init(elapsed: Duration) { self.elapsed = elapsed }

        /// The instant `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }

        /// The time from this instant to `other`.
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }

        /// Whether one comes before the other.
        public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
    }

    /// What is called when the clock was moved.
    typealias Wake = @Sendable () -> Void

    private let time = LoopbackServer.Waiters(Duration.zero)
    private let wakes = Locked<[Wake]>([])

    /// A clock at its beginning.
    public init() {}

    /// The present instant.
    public var now: Instant { Instant(elapsed: time.value) }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock was moved to `deadline`.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await time.wait { $0 >= deadline.elapsed }
    }

    /// Moves the clock. Returns at once: what was due then happens on the sessions' own threads.
    ///
    /// - Parameter duration: how far; a clock never goes back.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a clock never goes back")
        time.update { $0 += duration }
        for wake in wakes.withLock({ $0 }) { wake() }
    }

    func onAdvance(_ wake: @escaping Wake) { wakes.withLock { $0.append(wake) } }
}
