import CurlEngine
import FoundationEssentials

/// The pings of this side: those that the user sends, and those that find out whether a silent server is still there.
extension WebSocketConnection {
    /// Sends a ping, and returns the time until its answer.
    func ping() async throws -> Duration {
        try Task.checkCancellation()
        guard state.isOpen else { throw notOpen }
        let number = nextNumber()
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation { reply in
                pings.add(number, at: context.now(), reply)
                sendPing(number)
            }
        } onCancel: {
            Task { await endPing(number) }
        }
    }

    private func endPing(_ number: UInt64) { pings.end(number, throwing: CancellationError()) }

    private func sendPing(_ number: UInt64) {
        guard let frame = writer.control(.ping, WebSocketPings.payload(number)) else { return }
        Task.immediate { [connection] in try? await connection.write(frame) }
    }

    /// Sends a ping by itself.
    private func sendKeepAlivePing(_ number: UInt64) {
        guard let frame = writer.control(.ping, WebSocketPings.payload(number)) else { return }
        hasWaitingPing = true
        Task.immediate { await writeKeepAlivePing(frame) }
    }

    private func writeKeepAlivePing(_ frame: Data) async {
        try? await connection.write(frame)
        hasWaitingPing = false
    }

    /// Completes the pings that a payload answers.
    func completePings(_ payload: Data) {
        guard let latency = pings.complete(payload, at: context.now()) else { return }
        facts.withLock { $0.latency = latency }
    }

    /// Starts the task that sends pings while the server is silent.
    func startKeepAlive() {
        guard let interval = options.pingInterval else { return }
        keepAliveTask = Task(executorPreference: connection.executor) { await self.keepAlive(interval) }
    }

    /// A ping that was sent by itself.
    private struct SentPing {
        let number: UInt64
        /// The instant from which the time for the answer counts.
        var start: EngineInstant
    }

    /// The lateness of a timer from which on the process was probably stopped, so that an answer may be there and not be read yet.
    private static var noticeableLateness: Duration { .seconds(1) }

    /// The pings that are sent by themselves.
    private struct KeepAlive {
        var lastPing: EngineInstant
        /// The last ping while it is not answered.
        var unanswered: SentPing?
    }

    /// Sends a ping whenever the server was silent for the interval, and ends the connection if one is not answered in time. There is one
    /// timer for both, so that an idle connection wakes its thread once for each ping if both times are the same.
    ///
    /// Each open connection waits in this function. The steps between the waits are functions of their own, so that its frame is small.
    private func keepAlive(_ interval: Duration) async {
        var keepAlive = KeepAlive(lastPing: quietSince)
        while let wake = nextWake(&keepAlive, interval) {
            guard (try? await context.timekeeper().delay(until: wake)) == true, isAlive(&keepAlive, after: wake) else {
                return
            }
        }
    }

    /// Sends the pings that are due. Returns the instant of the next step; `nil` if the connection is not open any more.
    @inline(never)
    private func nextWake(_ keepAlive: inout KeepAlive, _ interval: Duration) -> EngineInstant? {
        while state.isOpen {
            let now = context.now()
            if let ping = keepAlive.unanswered, !pings.contains(ping.number) { keepAlive.unanswered = nil }
            let wake = max(quietSince, keepAlive.lastPing).advanced(by: interval)
            if let ping = keepAlive.unanswered, let limit = options.pongTimeout {
                return min(ping.start.advanced(by: limit), max(wake, now.advanced(by: interval)))
            }
            guard now >= wake else { return wake }
            guard !hasWaitingPing else {
                // A server that takes nothing is sent one ping, and not one more after each interval.
                keepAlive.lastPing = now
                continue
            }
            if let ping = keepAlive.unanswered { pings.end(ping.number, throwing: CancellationError()) }
            let number = nextNumber()
            pings.add(number, at: now)
            sendKeepAlivePing(number)
            keepAlive = KeepAlive(lastPing: now, unanswered: SentPing(number: number, start: now))
        }
        return nil
    }

    /// Ends the connection if a ping was not answered in time. Returns whether pings are still to be sent.
    @inline(never)
    private func isAlive(_ keepAlive: inout KeepAlive, after wake: EngineInstant) -> Bool {
        guard state.isOpen else { return false }
        guard let ping = keepAlive.unanswered, let limit = options.pongTimeout, pings.contains(ping.number),
            context.now() >= ping.start.advanced(by: limit)
        else { return true }
        guard let start = laterStart(of: ping, dueAt: wake) else {
            handle(.pongIsMissing)
            return false
        }
        keepAlive.unanswered?.start = start
        return true
    }

    /// Returns another beginning of the time for an answer; `nil` if the server is lost. A server whose bytes arrive is there, one that is
    /// not read may be, and to one that takes the bytes of a long message the ping may be on its way behind them.
    private func laterStart(of ping: SentPing, dueAt due: EngineInstant) -> EngineInstant? {
        let now = context.now()
        if isHeldUp || now > due.advanced(by: Self.noticeableLateness) { return now }
        let lastMove = max(lastReceived, lastRoom)
        return lastMove > ping.start ? lastMove : nil
    }
}
