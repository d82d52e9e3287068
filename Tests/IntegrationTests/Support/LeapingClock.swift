import CurlEngine
import Trellis

/// A clock that leaps over short pauses: when an engine would sleep until an instant that is near, the clock is there at once.
///
/// The pauses of a download before it goes on and between its looks at slow connections, and those of a limit on bandwidth, take no time
/// then, in whatever order they come.
/// A limit on time that is further away than ``longest`` is reached when the test moves the clock.
final class LeapingClock: EngineClock {
    /// The longest pause that the clock leaps over. The shortest default limit, on connecting, is ten seconds.
    static let longest = Duration.seconds(5)
    /// A limit on time that all leaps of a test together don't reach.
    static let farAway = Duration.seconds(1_000_000_000)

    private let time = Locked(EngineInstant(nanoseconds: 1_000_000_000))
    private let wakes = Locked<[@Sendable () -> Void]>([])

    func now() -> EngineInstant { time.withLock { $0 } }

    func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
        guard deadline <= now.advanced(by: Self.longest) else { return nil }
        move { max($0, deadline) }
        return 0
    }

    func onAdvance(_ wake: @escaping @Sendable () -> Void) { wakes.withLock { $0.append(wake) } }

    /// Moves the clock by a duration.
    func move(by duration: Duration) { move { $0.advanced(by: duration) } }

    private func move(_ change: (EngineInstant) -> EngineInstant) {
        time.withLock { $0 = change($0) }
        for wake in wakes.withLock({ $0 }) { wake() }
    }
}

extension Session {
    /// Creates a session over the network whose connections may be silent for as long as they like, unless its clock is advanced by
    /// ``LeapingClock/farAway``.
    convenience init(_ configuration: SessionConfiguration = SessionConfiguration(), leaping clock: LeapingClock) {
        var configuration = configuration
        configuration.timeouts = Timeouts(responseHead: LeapingClock.farAway, idle: LeapingClock.farAway)
        self.init(configuration: configuration, transport: nil, clock: clock)
    }
}
