import CCurl

/// An instant on the engine's time line, in nanoseconds of the monotonic clock.
package struct EngineInstant: Hashable, Comparable, Sendable {
    /// The time in nanoseconds.
    package var nanoseconds: UInt64

    /// Creates an instant.
    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// Returns whether one instant is earlier than another.
    package static func < (left: EngineInstant, right: EngineInstant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the instant that is `duration` later. An overflow gives the last instant, and a negative duration gives this instant.
    package func advanced(by duration: Duration) -> EngineInstant {
        advanced(byNanoseconds: duration.clampedNanoseconds)
    }

    /// Returns the nanoseconds from `earlier` to this instant; zero if `earlier` is not earlier.
    package func nanoseconds(since earlier: EngineInstant) -> Int64 {
        nanoseconds > earlier.nanoseconds ? Int64(clamping: nanoseconds - earlier.nanoseconds) : 0
    }

    /// Returns the instant that is `count` nanoseconds later. An overflow gives the last instant.
    package func advanced(byNanoseconds count: UInt64) -> EngineInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        return EngineInstant(nanoseconds: overflow ? .max : sum)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, from zero to `UInt64.max`.
    package var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = product.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflow || sumOverflow ? .max : sum
    }
}

/// The source of time for the engine's own timers: the system, or a test that sets the time by hand.
///
/// A clock is a reference type, because every call keeps its clock.
package protocol EngineClock: AnyObject, Sendable {
    /// Returns the current instant.
    func now() -> EngineInstant
    /// Returns the nanoseconds for which the loop may sleep until `deadline`; `nil` if time is only set by hand.
    func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64?
    /// Registers a closure that is called when time was set by hand.
    func onAdvance(_ wake: @escaping @Sendable () -> Void)
    /// Takes note of a session, or of a call that is about to begin, for a clock that waits for them. The default does nothing.
    func follow(_ object: any AnyObject & Sendable)
    /// Takes note that a task begins or ends a wait for an instant of the clock. The default does nothing.
    ///
    /// - Parameters:
    ///   - call: The call that waits; `nil` if none does.
    ///   - isLimit: Whether the wait is the limit on something else.
    func noteWait(of call: (any AnyObject & Sendable)?, isLimit: Bool, begins: Bool)
    /// Takes note of a task that is about to run code of the user's, or of a peer's, for a call with a number. The default does nothing.
    func beginWork(for number: UInt64) -> ClockWork?
}

extension EngineClock {
    package func follow(_ object: any AnyObject & Sendable) {}
    package func noteWait(of call: (any AnyObject & Sendable)?, isLimit: Bool, begins: Bool) {}
    package func beginWork(for number: UInt64) -> ClockWork? { nil }

    /// Returns a function that performs work for a call with a number, as ``beginWork(for:)`` begins it. It must be called.
    package func working<Value: Sendable>(
        for number: UInt64, _ body: @escaping @Sendable () async throws -> Value
    ) -> @Sendable () async throws -> Value {
        guard let work = beginWork(for: number) else { return body }
        return {
            defer { work.end() }
            return try await work.perform(body)
        }
    }
}

/// The monotonic clock of the system.
package final class MonotonicClock: EngineClock {
    /// The only instance.
    package static let system = MonotonicClock()

    private init() {}

    /// Returns the current instant of the system.
    package static func now() -> EngineInstant { EngineInstant(nanoseconds: ccurl_monotonic_ns()) }

    /// Returns the current instant.
    package func now() -> EngineInstant { Self.now() }

    /// Returns the nanoseconds until `deadline`.
    package func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
        deadline.nanoseconds > now.nanoseconds ? deadline.nanoseconds - now.nanoseconds : 0
    }

    /// Does nothing: the system's time cannot be set by hand.
    package func onAdvance(_ wake: @escaping @Sendable () -> Void) {}
}
