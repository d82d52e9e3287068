/// Decides when a connection on HTTP/2 sends a PING, what its answer or its absence means, and how long a round trip takes.
///
/// At most one PING is on its way. Everything that arrives proves that the server is there, and not only the answer. A server that takes
/// content has more time, because the PING may have to wait for that content on a slow link.
///
/// While requests wait in silence, the first PING comes after ``Settings/interval``, the next after twice that time, and each further one
/// after five minutes: servers of gRPC end a connection at the third PING that comes earlier.
struct HTTP2Keepalive: Sendable {
    /// The times of the checks.
    struct Settings: Hashable, Sendable {
        /// The time without a byte after which a PING is sent while requests wait; `nil` if none is.
        var interval: Duration? = .seconds(15)
        /// The time for the answer while requests wait.
        var patience = Duration.seconds(10)
        /// The time without a byte after which an idle connection is checked before its next request.
        var idleAge = Duration.seconds(15)
        /// The time for the answer to that check. The request waits for it, and then goes to another connection.
        var idlePatience = Duration.seconds(2)
        /// The time without a byte after which a PING is sent while no request waits; `nil` if none is.
        var idleInterval: Duration?
    }

    /// What is to be done.
    enum Action: Hashable, Sendable {
        /// Nothing before ``HTTP2Keepalive/deadline(streams:)``.
        case wait
        /// A PING with that number as its data is to be sent.
        case ping(UInt64)
        /// The connection is dead: nothing has come for that long.
        case dead(Duration)
    }

    private struct Ping: Sendable {
        let number: UInt64
        let sent: EngineInstant
        /// The instant at which the server last took content, or at which the PING was sent.
        var moved: EngineInstant
        var patience: Duration
    }

    private static let rareInterval = Duration.seconds(300)
    /// The time for which a measured round trip holds.
    private static let measurementAge = Duration.seconds(10)

    let settings: Settings
    /// The instant of the last bytes from the server, or of the first request after them if no request was waiting then.
    private var active: EngineInstant
    private var ping: Ping?
    private var lastNumber: UInt64 = 0
    /// The number of PING frames that were answered in the present silence.
    private var answered = 0
    /// Whether no stream may be opened before bytes arrive.
    private(set) var isInDoubt = false
    /// The measured time of a round trip in nanoseconds; `nil` before the first measurement. Shorter ones count at once, and longer ones
    /// by and by, because content in queues delays an answer.
    private(set) var roundTrip: Int64?
    /// The instant of the last measurement, if any.
    private var measured: EngineInstant?

    /// Creates the state of a connection that was just made.
    init(_ settings: Settings = Settings(), at now: EngineInstant) {
        self.settings = settings
        active = now
    }

    // MARK: Events

    /// Records that bytes arrived.
    mutating func didReceive(at now: EngineInstant) {
        active = now
        isInDoubt = false
    }

    /// Records that the server has taken content that was sent before the PING on its way, if there is one.
    mutating func didDeliverContent(at now: EngineInstant) { ping?.moved = now }

    /// Records that a head or content arrived, which ends a silence.
    mutating func didReceiveContent() { answered = 0 }

    /// Records the first stream of a connection that had none.
    mutating func didBecomeBusy(at now: EngineInstant) {
        active = max(active, now)
        answered = 0
    }

    /// Records the acknowledgement of a PING. Returns whether one with that number was expected.
    mutating func didReceiveAnswer(_ number: UInt64, at now: EngineInstant) -> Bool {
        guard let ping, ping.number == number else { return false }
        self.ping = nil
        answered += 1
        measure(from: ping.sent, to: now)
        return true
    }

    /// Records a round trip.
    mutating func measure(from start: EngineInstant, to now: EngineInstant) {
        let sample = max(now.nanoseconds(since: start), 1)
        let known = roundTrip ?? sample
        roundTrip = sample < known ? sample : known + (sample - known) / 8
        measured = now
    }

    // MARK: Checks

    /// Returns whether an idle connection is to be checked before its next request.
    func isStale(at now: EngineInstant) -> Bool { now >= active.advanced(by: settings.idleAge) }

    /// Begins the check of an idle connection. No stream may be opened before bytes arrive.
    mutating func checkIdle(at now: EngineInstant) -> Action {
        isInDoubt = true
        guard var ping else { return send(patience: settings.idlePatience, at: now) }
        // From now on, the answer has the shorter of both times.
        let passed = Duration.nanoseconds(now.nanoseconds(since: max(active, ping.moved)))
        ping.patience = min(ping.patience, passed + settings.idlePatience)
        self.ping = ping
        return .wait
    }

    /// Begins a measurement of the round trip, unless one is under way or recent.
    mutating func measureRoundTrip(at now: EngineInstant) -> Action {
        guard ping == nil, measured.map({ now >= $0.advanced(by: Self.measurementAge) }) ?? true else { return .wait }
        return send(patience: settings.patience, at: now)
    }

    /// Returns what is to be done at an instant.
    mutating func check(streams: Int, at now: EngineInstant) -> Action {
        guard let deadline = deadline(streams: streams), now >= deadline else { return .wait }
        guard ping != nil else { return send(patience: settings.patience, at: now) }
        return .dead(.nanoseconds(now.nanoseconds(since: active)))
    }

    /// The instant of the next ``check(streams:at:)``; `nil` if there is nothing to wait for. Bytes that arrive only move it later.
    func deadline(streams: Int) -> EngineInstant? {
        if let ping { return max(active, ping.moved).advanced(by: ping.patience) }
        guard streams > 0 else { return settings.idleInterval.map { active.advanced(by: $0) } }
        guard let interval = settings.interval else { return nil }
        let wait =
            switch answered {
            case 0: interval
            case 1: interval * 2
            default: max(interval, Self.rareInterval)
            }
        return active.advanced(by: wait)
    }

    private mutating func send(patience: Duration, at now: EngineInstant) -> Action {
        lastNumber += 1
        ping = Ping(number: lastNumber, sent: now, moved: now, patience: patience)
        return .ping(lastNumber)
    }
}
