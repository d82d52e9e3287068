import CurlEngine
import FoundationEssentials
import TrellisCore

/// The pings of this side that the server has not answered, and the server's silence, which decides when pings are sent. A pure value.
struct WebSocketKeepAlive: Hashable, Sendable {
    /// A ping that was sent. It carries its number, so that an answer belongs to its ping.
    private struct Ping: Hashable {
        let number: UInt64
        /// The instant of its sending; of a ping that was sent by itself and whose time is extended, a later one.
        var start: EngineInstant
    }

    /// The latency of a ping that was answered.
    struct Answer: Hashable, Sendable {
        let number: UInt64
        let latency: Duration
    }

    /// An alarm that is later than this shows that the process was probably stopped: the answer may be there, and not be read yet.
    private static let noticeableLateness = Duration.seconds(1)

    /// The silence after which a ping is sent; `nil` if none is sent by itself.
    private let interval: Duration?
    /// The time for the answer to a ping that was sent by itself; `nil` if there is no limit.
    let limit: Duration?
    private var pings: [Ping] = []
    private var lastNumber: UInt64 = 0
    /// The last ping that was sent by itself, until it is answered. The time for its answer counts from its start.
    private var unanswered: Ping?
    /// The instant of the last ping that was sent by itself, or of the beginning.
    private var lastPing: EngineInstant
    /// The instant when bytes were last received, or reading was resumed.
    private var lastReceived: EngineInstant
    /// The instant when a frame last got room after a wait, because the network has taken bytes.
    private var lastRoom: EngineInstant
    /// The same as `lastReceived` without the answers to pings, so that an answer does not lengthen the time between two pings.
    private var quietSince: EngineInstant
    /// The value of `quietSince` before the bytes that are being parsed.
    private var earlierQuietSince: EngineInstant
    /// Whether a ping that was sent by itself waits for room.
    var isPingWaiting = false

    init(interval: Duration?, limit: Duration?, from start: EngineInstant) {
        self.interval = interval
        self.limit = limit
        (lastPing, lastReceived, lastRoom, quietSince, earlierQuietSince) = (start, start, start, start, start)
    }

    // MARK: Facts

    /// Notes that bytes were received, or that reading was resumed: the server was not listened to until then.
    mutating func noteReceived(at now: EngineInstant) {
        lastReceived = now
        (earlierQuietSince, quietSince) = (quietSince, now)
    }

    /// Notes that a frame got room after a wait.
    mutating func noteRoom(at now: EngineInstant) { lastRoom = now }

    /// Whether every ping was answered.
    var isAnswered: Bool { pings.isEmpty }

    private func isUnanswered(_ number: UInt64) -> Bool { pings.contains { $0.number == number } }

    // MARK: Pings

    /// Returns the number of the next ping.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Adds a ping that is about to be sent.
    mutating func add(_ number: UInt64, at now: EngineInstant) { pings.append(Ping(number: number, start: now)) }

    /// Removes a ping whose answer nothing waits for.
    mutating func remove(_ number: UInt64) { pings.removeAll { $0.number == number } }

    /// Completes the ping with a payload, and all that were sent before it, because a server may answer only the last of several (RFC 6455,
    /// section 5.5.3). Returns their latencies, the answered ping's last; none for a payload of no ping, which is allowed.
    mutating func complete(_ payload: Data, at now: EngineInstant) -> [Answer] {
        quietSince = earlierQuietSince
        guard let number = Self.number(payload), let index = pings.firstIndex(where: { $0.number == number }) else {
            return []
        }
        let answers = pings[...index].map { ping in
            Answer(number: ping.number, latency: .nanoseconds(now.nanoseconds(since: ping.start)))
        }
        pings.removeFirst(index + 1)
        return answers
    }

    /// Whether the alarm waits for an answer that has come, so that it is to be moved to the next ping. If the time for an answer is as
    /// long as the interval, both alarms are the same.
    var mustMoveAlarm: Bool {
        guard let interval, let limit, limit < interval, let unanswered else { return false }
        return !isUnanswered(unanswered.number)
    }

    // MARK: Time

    /// Returns the number of the ping that is due, if any, and the instant of the next step: a ping whenever the server was silent for the
    /// interval, or the end of the time for an answer. One alarm for both wakes the thread of an idle connection once for each ping that is
    /// answered in time.
    mutating func advance(to now: EngineInstant) -> (ping: UInt64?, wake: EngineInstant?) {
        guard let interval else { return (nil, nil) }
        if let last = unanswered, !isUnanswered(last.number) { unanswered = nil }
        let isDue = now >= max(quietSince, lastPing).advanced(by: interval) && (unanswered == nil || limit == nil)
        let ping = isDue ? nextPing(at: now) : nil
        let wake = max(quietSince, lastPing).advanced(by: interval)
        guard let unanswered, let limit else { return (ping, wake) }
        // The clock may have moved since the ping was sent, which does not delay the next one.
        return (ping, min(unanswered.start.advanced(by: limit), wake > now ? wake : now.advanced(by: interval)))
    }

    private mutating func nextPing(at now: EngineInstant) -> UInt64? {
        lastPing = now
        // A server that takes nothing is sent one ping, and not one more after each interval.
        guard !isPingWaiting else { return nil }
        if let unanswered { remove(unanswered.number) }
        let number = nextNumber()
        add(number, at: now)
        unanswered = Ping(number: number, start: now)
        return number
    }

    /// Returns whether the server is lost, because a ping was not answered in time. A server whose bytes arrive is there, and one that is
    /// not read may be. To one that takes the bytes of a long message, the ping may be on its way after them.
    mutating func isLost(at now: EngineInstant, alarm: EngineInstant, isHeldUp: Bool) -> Bool {
        guard let ping = unanswered, let limit, isUnanswered(ping.number), now >= ping.start.advanced(by: limit) else {
            return false
        }
        if isHeldUp || now > alarm.advanced(by: Self.noticeableLateness) {
            unanswered?.start = now
            return false
        }
        let lastMove = max(lastReceived, lastRoom)
        guard lastMove > ping.start else { return true }
        unanswered?.start = lastMove
        return false
    }

    // MARK: Payloads

    /// Returns the payload of a ping: its number in eight bytes.
    static func payload(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }

    private static func number(_ payload: Data) -> UInt64? {
        payload.count == 8 ? payload.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }
}
