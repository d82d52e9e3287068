import CurlEngine

/// The instant at which a call has to have ended, whatever it is doing then.
struct CallDeadline: Sendable {
    let start: EngineInstant
    /// `nil`: never.
    let end: EngineInstant?
    /// The total that it follows from, in nanoseconds; `nil`: there is none.
    let limit: UInt64?
    let clock: any EngineClock

    init(start: EngineInstant, limit: UInt64?, clock: any EngineClock) {
        self.start = start
        self.limit = limit
        end = limit.map(start.advanced(byNanoseconds:))
        self.clock = clock
    }

    /// What is left, zero once it is over.
    var remaining: Duration? { end.map { .nanoseconds($0.nanoseconds(since: clock.now())) } }

    /// What has passed since the call was made.
    var elapsed: Duration { .nanoseconds(clock.now().nanoseconds(since: start)) }
}
