#if Redis
import CurlEngine

/// The decision whether a server is asked. A server that has failed just now is not: each request would wait for it in vain.
struct RedisAvailability: Hashable, Sendable {
    /// The answers.
    enum Answer: Hashable, Sendable {
        /// The commands are sent at once.
        case send
        /// The commands are sent as soon as there is a connection, which is the first one.
        case sendWhenConnected
        /// Nothing is sent.
        case refuse
    }

    /// The shortest time without a command after a failure.
    let pause: Duration
    /// Whether there is a connection that takes commands.
    private(set) var isConnected = false
    /// Whether a connection was lost, or not made in the time that a request waits, since the last one was made.
    private var hasFailed = false
    /// The number of attempts to connect in a row that have failed.
    private var failures = 0
    /// The number of answers that are overdue. Until they have come, the server is too slow for others.
    private var overdue = 0
    /// The end of the pause.
    private var restEnd = EngineInstant(nanoseconds: 0)

    init(pause: Duration) { self.pause = pause }

    /// Returns whether the server is asked.
    func answer(at now: EngineInstant) -> Answer {
        guard now >= restEnd, overdue == 0 else { return .refuse }
        if isConnected { return .send }
        return hasFailed ? .refuse : .sendWhenConnected
    }

    /// Whether the server owes answers whose time is over.
    var isOverdue: Bool { overdue > 0 }

    /// Records that a connection takes commands.
    mutating func didConnect() {
        (isConnected, hasFailed, failures, overdue) = (true, false, 0, 0)
        restEnd = EngineInstant(nanoseconds: 0)
    }

    /// Records that an answer has not come in its time.
    mutating func didMissAnswer(at now: EngineInstant) {
        overdue += 1
        restEnd = now.advanced(by: pause)
    }

    /// Records that an answer has come after its time.
    mutating func didCatchUp() { overdue = max(overdue - 1, 0) }

    /// Records that there was no connection in the time that a request waits.
    mutating func didWaitInVain() { if !isConnected { hasFailed = true } }

    /// Records that a connection was lost, or could not be made. Returns the time after which the next one is made.
    ///
    /// - Parameter share: A random number from 0 to 1, so that the processes of a fleet do not all come back at once.
    mutating func didLose(share: Double) -> Duration {
        (isConnected, hasFailed, overdue) = (false, true, 0)
        failures += 1
        let longest = min(Duration.milliseconds(50) * (1 << min(failures, 10)), .seconds(10))
        return longest * (0.5 + 0.5 * min(max(share, 0), 1))
    }
}
#endif
