import CurlEngine
import TrellisTesting

@testable import Trellis

extension CallContext {
    /// The context of an attempt, for steps that are called without a session. Its time stands still.
    static func test(
        id: UInt64 = 1, attempt: Int = 1, remaining: Duration? = nil, redirects: [Redirect] = []
    ) -> CallContext {
        let clock = TestClock().engineSide
        let deadline = CallDeadline(start: clock.now(), limit: remaining?.clampedNanoseconds, clock: clock)
        var context = CallContext(id: id, deadline: deadline)
        context.attempt = attempt
        context.redirects = redirects
        return context
    }
}

extension EngineInstant {
    /// So long after the beginning of the engine's time line.
    static func at(_ duration: Duration) -> EngineInstant { EngineInstant(nanoseconds: 0).advanced(by: duration) }
}
