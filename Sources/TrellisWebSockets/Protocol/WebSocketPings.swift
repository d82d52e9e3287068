import CurlEngine
import FoundationEssentials
import TrellisCore

/// The pings of this side that the server has not answered yet. Each carries a number, so that an answer belongs to its ping.
struct WebSocketPings {
    private struct Entry {
        let number: UInt64
        let sent: EngineInstant
        /// The call that waits for the answer; `nil` for a ping that was sent by itself.
        let reply: CheckedContinuation<Duration, any Error>?
    }

    private var entries: [Entry] = []

    /// Adds a ping that is about to be sent.
    mutating func add(
        _ number: UInt64, at instant: EngineInstant, _ reply: CheckedContinuation<Duration, any Error>? = nil
    ) {
        entries.append(Entry(number: number, sent: instant, reply: reply))
    }

    /// Whether every ping was answered.
    var isEmpty: Bool { entries.isEmpty }

    /// Returns whether a ping was not answered yet.
    func contains(_ number: UInt64) -> Bool { entries.contains { $0.number == number } }

    /// Completes the ping with a payload, and all that were sent before it, because a server may answer only the last of several (RFC 6455,
    /// section 5.5.3). Returns the latency of the answered ping; `nil` for a payload of no ping, which is allowed (section 5.5.3).
    mutating func complete(_ payload: Data, at instant: EngineInstant) -> Duration? {
        guard let number = Self.number(payload), let index = entries.firstIndex(where: { $0.number == number }) else {
            return nil
        }
        for entry in entries[...index] {
            entry.reply?.resume(returning: .nanoseconds(instant.nanoseconds(since: entry.sent)))
        }
        let latency = Duration.nanoseconds(instant.nanoseconds(since: entries[index].sent))
        entries.removeFirst(index + 1)
        return latency
    }

    /// Ends a call that waits.
    mutating func end(_ number: UInt64, throwing error: any Error) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        entries.remove(at: index).reply?.resume(throwing: error)
    }

    /// Ends all calls that wait.
    mutating func endAll(throwing error: any Error) {
        for entry in entries { entry.reply?.resume(throwing: error) }
        entries.removeAll()
    }

    /// The payload of a ping: its number in eight bytes.
    static func payload(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }

    private static func number(_ payload: Data) -> UInt64? {
        payload.count == 8 ? payload.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }
}
