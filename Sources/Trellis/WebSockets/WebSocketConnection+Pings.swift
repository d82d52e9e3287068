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

    /// Sends a ping whenever the server was silent for the interval, and ends the connection if one is not answered in time. There is one
    /// timer for both, so that an idle connection wakes its thread once for each ping if both times are the same.
    private func keepAlive(_ interval: Duration) async {
        var lastPing = quietSince
        var unanswered: SentPing?
        while state.isOpen {
            let now = context.now()
            if let ping = unanswered, !pings.contains(ping.number) { unanswered = nil }
            var wake = max(quietSince, lastPing).advanced(by: interval)
            if let ping = unanswered, let limit = options.pongTimeout {
                wake = min(ping.start.advanced(by: limit), max(wake, now.advanced(by: interval)))
            } else if now >= wake {
                if let ping = unanswered { pings.end(ping.number, throwing: CancellationError()) }
                let number = nextNumber()
                pings.add(number, at: now)
                sendPing(number)
                (unanswered, lastPing) = (SentPing(number: number, start: now), now)
                continue
            }
            guard (try? await context.wait(until: wake)) != nil, state.isOpen else { return }
            guard let ping = unanswered, let limit = options.pongTimeout, pings.contains(ping.number),
                context.now() >= ping.start.advanced(by: limit)
            else { continue }
            guard let start = laterStart(of: ping, dueAt: wake) else { return handle(.pongIsMissing) }
            unanswered?.start = start
        }
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
