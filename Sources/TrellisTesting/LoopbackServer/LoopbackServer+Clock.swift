/// The pauses of faults on a socket, which last for a time, or until a test has moved its clock.
extension LoopbackServer.Connection {
    /// Blocks for a latency. With a clock, the time is counted from an instant before the fault is recorded, so that a test that knows of
    /// the fault can move the clock.
    func pause(for duration: Duration, of fault: Fault, _ schedule: FaultSchedule) throws {
        guard let clock = schedule.clock else {
            schedule.begin(fault)
            return try pause(for: duration)
        }
        let end = clock.now.advanced(by: duration)
        schedule.begin(fault)
        try wait(until: end, on: clock)
    }

    /// Blocks until a clock was moved to an instant. Throws when the peer closes its side first.
    func wait(until instant: TestClock.Instant, on clock: TestClock) throws {
        let gate = LoopbackServer.Gate()
        let timer = Task {
            try await clock.sleep(until: instant)
            gate.open()
        }
        defer { timer.cancel() }
        try wait(for: gate)
    }
}

/// The pauses of a drip on a socket. On a clock they are counted from the beginning of the first one, so that a clock that is moved over
/// several of them ends all of these.
struct DripPauses {
    private let schedule: FaultSchedule
    private var hasBegun = false
    /// The end of the last pause on the clock.
    private var lastEnd: TestClock.Instant?

    init(_ schedule: FaultSchedule) { self.schedule = schedule }

    /// Blocks before a piece of the drip.
    mutating func wait(for duration: Duration, of fault: Fault, on connection: LoopbackServer.Connection) throws {
        let end = schedule.clock.map { (lastEnd ?? $0.now).advanced(by: duration) }
        lastEnd = end
        if !hasBegun { schedule.begin(fault) }
        hasBegun = true
        guard let clock = schedule.clock, let end else { return try connection.pause(for: duration) }
        try connection.wait(until: end, on: clock)
    }
}
