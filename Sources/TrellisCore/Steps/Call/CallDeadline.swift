package import CurlEngine

/// The instant at which a call is ended, in any state: by ``RequestActor/timerIsDue()``, or by the exchange of a call without an actor,
/// whose ``Deadlines`` have the same limit.
package struct CallDeadline: Sendable {
    /// The instant at which the call was made.
    package let start: EngineInstant
    /// The instant of the deadline; `nil` if the call has none.
    package let end: EngineInstant?
    /// The limit in total, in nanoseconds; `nil` if the call has none.
    let limit: UInt64?
    package let clock: any EngineClock

    package init(start: EngineInstant, limit: UInt64?, clock: any EngineClock) {
        self.start = start
        self.limit = limit
        end = limit.map(start.advanced(byNanoseconds:))
        self.clock = clock
    }

    /// The time that is left, zero after the deadline; `nil` if the call has no deadline.
    package var remaining: Duration? { end.map { .nanoseconds($0.nanoseconds(since: clock.now())) } }

    /// The time since the call was made.
    var elapsed: Duration { .nanoseconds(clock.now().nanoseconds(since: start)) }
}
