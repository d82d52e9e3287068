import CurlEngine
import FoundationEssentials
import TrellisCore

/// The calls that wait for something of a connection.
struct WebSocketWaiters {
    /// A call that waits.
    struct Waiter<Value: Sendable>: Sendable {
        let number: UInt64
        let reply: CheckedContinuation<Value, any Error>
    }

    /// The callers that wait for a message while another one reads. Each gets a message, or `nil` if it shall look for itself.
    var receivers = FIFO<Waiter<WebSocketMessage?>>()
    /// The calls that wait until an earlier message has room; `nil` if no message waits for room.
    var senders: FIFO<Waiter<Void>>?
    /// The calls that wait for the answer to a ping, by the ping's number.
    private var pings: [UInt64: CheckedContinuation<Duration, any Error>] = [:]
    /// The calls that wait until the connection is cut.
    private var closers: [CheckedContinuation<Void, Never>] = []
    private var lastNumber: UInt64 = 0

    /// Returns the number of a call that is about to wait.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Lets a call wait for the answer to a ping.
    mutating func add(_ reply: CheckedContinuation<Duration, any Error>, forPing number: UInt64) {
        pings[number] = reply
    }

    /// Lets a call wait until the connection is cut.
    mutating func add(_ closer: CheckedContinuation<Void, Never>) { closers.append(closer) }

    /// Cancels a call that waits for a message, or for its turn to send.
    mutating func cancel(_ number: UInt64) {
        receivers.remove(number)?.reply.resume(throwing: CancellationError())
        senders?.remove(number)?.reply.resume(throwing: CancellationError())
    }

    /// Cancels a call that waits for the answer to a ping.
    mutating func cancelPing(_ number: UInt64) {
        pings.removeValue(forKey: number)?.resume(throwing: CancellationError())
    }

    /// Completes the call that waits for the answer to a ping, if any.
    mutating func completePing(_ answer: WebSocketKeepAlive.Answer) {
        pings.removeValue(forKey: answer.number)?.resume(returning: answer.latency)
    }

    /// Ends every call that sends, receives or waits for an answer. Those that receive look for themselves.
    mutating func end(throwing error: TrellisError) {
        while let receiver = receivers.popFirst() { receiver.reply.resume(returning: nil) }
        for reply in pings.values { reply.resume(throwing: error) }
        pings = [:]
        while let sender = senders?.popFirst() { sender.reply.resume(throwing: error) }
    }

    /// Resumes the calls that wait until the connection is cut.
    mutating func resumeClosers() {
        for closer in closers { closer.resume() }
        closers = []
    }
}

extension FIFO {
    /// Removes and returns the waiter with a number, if it waits.
    fileprivate mutating func remove<Value>(_ number: UInt64) -> Element?
    where Element == WebSocketWaiters.Waiter<Value> {
        var removed: Element?
        removeAll { waiter in
            if waiter.number == number { removed = waiter }
            return waiter.number == number
        }
        return removed
    }
}
