/// The player of faults on a connection. A pause lasts for a time, or until a test has moved its clock.
struct FaultPlayer {
    let connection: LoopbackServer.Connection
    let schedule: FaultSchedule

    /// Performs a fault, and returns if the connection continues after it.
    func play(_ fault: Fault) throws {
        if case .latency(let duration, _) = fault { return try pause(for: duration, of: fault) }
        schedule.begin(fault)
        switch fault {
        case .silence:
            connection.waitUntilPeerCloses()
            throw LoopbackServer.Interruption.closedByPeer
        case .reset:
            // The client has all bytes before the reset, which might overtake them otherwise.
            connection.waitUntilReceived()
            connection.reset()
        case .close: connection.shutdownWrite()
        case .closeWithoutNotify: connection.shutdownWrite(notifying: false)
        case .framing(.chunkSize): try connection.write("zz\r\n")
        case .framing(.statusLine): try connection.write("This is not a status line.\r\n\r\n")
        case .unresolvedName, .refusedConnection, .tls, .latency, .drip, .framing, .http2: return
        }
        throw LoopbackServer.Interruption.closedByScript
    }

    /// Blocks for a latency. With a clock, the time is counted from an instant before the fault is recorded, so that a test that knows of
    /// the fault can move the clock.
    private func pause(for duration: Duration, of fault: Fault) throws {
        guard let clock = schedule.clock else {
            schedule.begin(fault)
            return try connection.pause(for: duration)
        }
        let end = clock.now.advanced(by: duration)
        schedule.begin(fault)
        try wait(until: end, on: clock)
    }

    /// Blocks until a clock was moved to an instant. Throws when the peer closes its side first.
    fileprivate func wait(until instant: TestClock.Instant, on clock: TestClock) throws {
        let gate = LoopbackServer.Gate()
        let timer = Task {
            try await clock.sleep(until: instant)
            gate.open()
        }
        defer { timer.cancel() }
        try connection.wait(for: gate)
    }
}

/// The pauses of a drip on a socket. On a clock they are counted from the beginning of the first one, so that a clock that is moved over
/// several of them ends all of these.
struct DripPauses {
    private let player: FaultPlayer
    private var hasBegun = false
    /// The end of the last pause on the clock.
    private var lastEnd: TestClock.Instant?

    init(_ player: FaultPlayer) { self.player = player }

    /// Blocks before a piece of the drip.
    mutating func wait(for duration: Duration, of fault: Fault) throws {
        let clock = player.schedule.clock
        let end = clock.map { (lastEnd ?? $0.now).advanced(by: duration) }
        lastEnd = end
        if !hasBegun { player.schedule.begin(fault) }
        hasBegun = true
        guard let clock, let end else { return try player.connection.pause(for: duration) }
        try player.wait(until: end, on: clock)
    }
}
