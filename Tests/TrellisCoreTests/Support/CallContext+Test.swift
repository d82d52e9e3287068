import CurlEngine
import TrellisTesting

@testable import TrellisCore

extension CallContext {
    /// Returns the context of an attempt, for steps that are called without a session. The context's time stands still until the
    /// clock is advanced.
    static func test(
        id: UInt64 = 1, attempt: Int = 1, remaining: Duration? = nil, redirects: [Redirect] = [],
        clock: TestClock = TestClock(), engine: EngineExecutor? = nil,
        sender: (any RequestSender)? = nil
    ) -> CallContext {
        let time = clock.engineSide
        var context = CallContext(
            Call(
                Request("http://a.example/"), id: id, delivery: .memory, start: time.now(),
                limit: remaining?.clampedNanoseconds, engine: engine ?? EngineExecutor(clock: time), clock: time,
                sender: sender))
        context.attempt = attempt
        context.redirects = redirects
        return context
    }
}

extension EngineInstant {
    /// Returns the instant at this distance from the beginning of the engine's time line.
    static func at(_ duration: Duration) -> EngineInstant { EngineInstant(nanoseconds: 0).advanced(by: duration) }
}
