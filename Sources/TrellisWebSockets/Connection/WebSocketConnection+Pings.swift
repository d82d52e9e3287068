import CurlEngine
import FoundationEssentials
import TrellisCore

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
        _ = try? connection.send(frame)
    }

    /// Sends a ping by itself.
    private func sendKeepAlivePing(_ number: UInt64) {
        guard let frame = writer.control(.ping, WebSocketPings.payload(number)) else { return }
        guard let hasRoom = try? connection.send(frame), !hasRoom else { return }
        hasWaitingPing = true
        Task.immediate { await waitForRoomOfPing() }
    }

    private func waitForRoomOfPing() async {
        try? await connection.waitForRoom()
        hasWaitingPing = false
    }

    /// Completes the pings that a payload answers.
    func completePings(_ payload: Data) {
        guard let latency = pings.complete(payload, at: context.now()) else { return }
        facts.withLock { $0.latency = latency }
        moveAlarm()
    }

    /// Begins to send pings while the server is silent.
    func startKeepAlive() {
        guard let interval = options.pingInterval else { return }
        keepAlive.lastPing = quietSince
        setAlarm(interval)
    }

    /// The lateness of a timer from which on the process was probably stopped, so that an answer may be there and not be read yet.
    private static var noticeableLateness: Duration { .seconds(1) }

    /// Sets the alarm for the next step: a ping whenever the server was silent for the interval, or the end of the connection if one is not
    /// answered in time. There is one alarm for both, so that an idle connection wakes its thread once for each ping that is answered in
    /// time.
    ///
    /// No task waits for the alarm, because a task takes far more memory than the connection's other state, and each open connection would
    /// have one.
    private func setAlarm(_ interval: Duration) {
        guard let wake = nextWake(interval) else { return keepAlive.alarm = nil }
        keepAlive.wake = wake
        keepAlive.alarm = EngineAlarm(on: context.timekeeper(), at: wake) { [weak self] in
            guard let self else { return }
            Task(executorPreference: self.connection.executor) { await self.alarmIsDue(interval, at: wake) }
        }
    }

    private func alarmIsDue(_ interval: Duration, at wake: EngineInstant) {
        // The alarm may have been moved after its call had begun.
        guard wake == keepAlive.wake, isAlive(after: wake) else { return }
        setAlarm(interval)
    }

    /// Moves the alarm to the next ping if it waits for an answer that has come. If the time for an answer is as long as the interval, both
    /// alarms are the same.
    private func moveAlarm() {
        guard let interval = options.pingInterval, let limit = options.pongTimeout, limit < interval, state.isOpen,
            let ping = keepAlive.unanswered, !pings.contains(ping.number)
        else { return }
        keepAlive.alarm?.cancel()
        setAlarm(interval)
    }

    /// Sends the pings that are due. Returns the instant of the next step; `nil` if the connection is not open any more.
    private func nextWake(_ interval: Duration) -> EngineInstant? {
        while state.isOpen {
            let now = context.now()
            if let ping = keepAlive.unanswered, !pings.contains(ping.number) { keepAlive.unanswered = nil }
            let wake = max(quietSince, keepAlive.lastPing).advanced(by: interval)
            if let ping = keepAlive.unanswered, let limit = options.pongTimeout {
                // The clock may have moved since the ping was sent, which does not delay the next one.
                return min(ping.start.advanced(by: limit), wake > now ? wake : now.advanced(by: interval))
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
            keepAlive.lastPing = now
            keepAlive.unanswered = WebSocketKeepAlive.SentPing(number: number, start: now)
        }
        return nil
    }

    /// Ends the connection if a ping was not answered in time. Returns whether pings are still to be sent.
    private func isAlive(after wake: EngineInstant) -> Bool {
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
    private func laterStart(of ping: WebSocketKeepAlive.SentPing, dueAt due: EngineInstant) -> EngineInstant? {
        let now = context.now()
        if isHeldUp || now > due.advanced(by: Self.noticeableLateness) { return now }
        let lastMove = max(lastReceived, lastRoom)
        return lastMove > ping.start ? lastMove : nil
    }
}

/// The pings that a connection sends by itself.
struct WebSocketKeepAlive {
    /// A ping that was sent by itself.
    struct SentPing {
        let number: UInt64
        /// The instant from which the time for the answer counts.
        var start: EngineInstant
    }

    /// The instant of the last ping, or of the beginning.
    var lastPing = EngineInstant(nanoseconds: 0)
    /// The last ping while it is not answered.
    var unanswered: SentPing?
    /// The alarm for the next step; `nil` if no pings are sent.
    var alarm: EngineAlarm?
    /// The instant of the alarm.
    var wake = EngineInstant(nanoseconds: 0)
}
