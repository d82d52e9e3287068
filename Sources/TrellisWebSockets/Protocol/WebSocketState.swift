import CurlEngine
import FoundationEssentials
import TrellisCore

/// The state of an open connection, and its reactions: the closing handshake, pings and time limits (RFC 6455, sections 5.5 and 7).
///
/// A pure state machine: its owner performs the effects.
struct WebSocketState: Hashable, Sendable {
    /// The part of its life that the connection is in.
    enum Phase: Hashable, Sendable {
        /// Messages pass in both directions.
        case open
        /// This side has sent a Close frame, and waits for the server's.
        case closing
        /// The closing handshake is over, or the connection has failed; the server, which ends the connection (section 7.1.1), has not done
        /// so yet.
        case ending
        /// The connection is cut.
        case ended
    }

    /// Something that has happened.
    enum Event: Hashable, Sendable {
        /// The connection begins to read.
        case opened
        /// The user closes the connection.
        case close(WebSocketClosing)
        /// The user sends a ping with a number.
        case ping(UInt64)
        /// The user does not wait for the answer to a ping any more.
        case pingCancelled(UInt64)
        /// A Ping frame with its payload.
        case receivedPing(Data)
        /// A Pong frame with its payload.
        case receivedPong(Data)
        case receivedClose(WebSocketClosing)
        /// The server has broken a rule or a limit. If messages before it are unread, they are read and answered first.
        case violation(WebSocketViolation, hasUnread: Bool)
        /// The messages before a violation were read, and their reader has asked for another one: it may have answered them.
        case messagesAreRead
        /// The alarm for an instant is due. Nothing is read while the connection is held up.
        case alarm(EngineInstant, isHeldUp: Bool)
        /// The server's bytes have ended.
        case peerEnded
        /// The transport has failed.
        case transportFailed
    }

    /// Something to do, in the order of the list.
    enum Effect: Hashable, Sendable {
        /// Sends a Pong frame with a payload.
        case answerPing(Data)
        /// Sends the ping with a number. Without room, a ping that is sent by itself waits for it.
        case sendPing(UInt64, isKeepAlive: Bool)
        /// Completes pings; the last one is the one that the server has answered.
        case completePings([WebSocketKeepAlive.Answer])
        /// Sets the alarm, which replaces an earlier one. It is set before a Close frame is sent, so that a peer that has the frame finds
        /// the time running.
        case setAlarm(EngineInstant)
        /// Sends a Close frame, after which nothing is sent but answers to pings.
        case sendClose(WebSocketClosing)
        /// Ends the messages, and every call that waits.
        case finish(Ending)
        /// Closes the connection at once, and cancels the alarm.
        case cut
    }

    /// How the messages end.
    enum Ending: Hashable, Sendable {
        /// The server closed the connection.
        case closedByPeer(WebSocketClosing)
        /// This side closed the connection. The value is the server's Close frame.
        case closed(WebSocketClosing)
        /// This side closed the connection, and the server sent no Close frame.
        case closedWithoutReply
        case failed(WebSocketViolation)
        /// The server did not answer a ping in time.
        case noPong(after: Duration)
        /// The time of the whole conversation is over.
        case timedOut
        /// The server's bytes ended without a Close frame.
        case lost
        case transportFailed

        /// Whether nothing shows that messages are missing.
        var isComplete: Bool {
            switch self {
            case .closedByPeer(let closing): closing.code.isNormal
            case .closed, .closedWithoutReply: true
            case .failed, .noPong, .timedOut, .lost, .transportFailed: false
            }
        }
    }

    /// A violation that waits for the readers of the messages before it.
    private struct Settling: Hashable {
        let violation: WebSocketViolation
        let end: EngineInstant
    }

    /// How long a violation waits for the readers of the messages before it.
    static let settlingLimit = Duration.seconds(1)

    private(set) var phase = Phase.open
    var keepAlive: WebSocketKeepAlive
    private let closeTimeout: Duration
    /// The instant when the time of the whole conversation is over; `nil` without a limit.
    private let deadline: EngineInstant?
    private var settling: Settling?
    /// The instant of the alarm, if one is set. The alarm of an earlier instant, which may be due at the same time, has no effect.
    private(set) var alarm: EngineInstant?

    init(_ options: WebSocketOptions, deadline: EngineInstant?, at start: EngineInstant) {
        keepAlive = WebSocketKeepAlive(interval: options.pingInterval, limit: options.pongTimeout, from: start)
        closeTimeout = options.closeTimeout
        self.deadline = deadline
    }

    /// Whether messages can be sent.
    var isOpen: Bool { phase == .open }

    /// Whether messages of the server are delivered and its pings answered: until the Close frame of the server, also while this
    /// side closes (RFC 6455, sections 1.4 and 5.5.2).
    var takesFrames: Bool { phase == .open || phase == .closing }

    /// Returns the effects of an event.
    mutating func handle(_ event: Event, at now: EngineInstant) -> [Effect] {
        switch (phase, event) {
        case (.open, .opened): return wait(from: now)
        case (.open, .receivedPing(let payload)), (.closing, .receivedPing(let payload)): return [.answerPing(payload)]
        case (.open, .receivedPong(let payload)), (.closing, .receivedPong(let payload)):
            return complete(payload, at: now)
        case (.open, .ping(let number)):
            keepAlive.add(number, at: now)
            return [.sendPing(number, isKeepAlive: false)]
        case (.open, .close(let closing)):
            phase = .closing
            let effects = startClosing(closing, at: now)
            // A violation that waits is not forgotten.
            return settling.map { effects + end(.failed($0.violation)) } ?? effects
        case (.open, .receivedClose(let closing)):
            phase = .ending
            return startClosing(closing.reply, at: now) + [.finish(.closedByPeer(closing))]
        case (.open, .violation(let violation, hasUnread: true)):
            settling = Settling(violation: violation, end: now.advanced(by: Self.settlingLimit))
            return wait(from: now)
        case (.open, .violation(let violation, hasUnread: false)): return fail(violation, at: now)
        case (.open, .messagesAreRead): return settling.map { fail($0.violation, at: now) } ?? []
        case (.open, .alarm(let instant, let isHeldUp)) where instant == alarm:
            alarm = nil
            return alarmIsDue(instant, isHeldUp: isHeldUp, at: now)
        case (.open, .peerEnded): return end(.lost)
        case (.open, .transportFailed): return end(.transportFailed)

        case (.closing, .receivedClose(let closing)):
            phase = .ending
            return [.finish(.closed(closing))]
        case (.closing, .alarm(let instant, _)) where instant == alarm: return end(.closedWithoutReply)
        case (.closing, .peerEnded), (.closing, .transportFailed): return end(.closedWithoutReply)
        // The message that breaks a rule, and all after it, are missing. The Close frame has been sent.
        case (.closing, .violation(let violation, _)): return end(.failed(violation))

        case (.ending, .alarm(let instant, _)) where instant == alarm: return cut()
        case (.ending, .peerEnded), (.ending, .transportFailed): return cut()

        case (_, .pingCancelled(let number)):
            keepAlive.remove(number)
            return []
        case (.open, .alarm), (.closing, _), (.ending, _), (.ended, _): return []
        }
    }

    // MARK: Time

    private mutating func alarmIsDue(_ alarm: EngineInstant, isHeldUp: Bool, at now: EngineInstant) -> [Effect] {
        if let deadline, now >= deadline {
            // The calls end at once. The server is told, and has the time that closing may take.
            phase = .ending
            return startClosing(WebSocketClosing(code: .goingAway), at: now) + [.finish(.timedOut)]
        }
        if let settling, now >= settling.end { return fail(settling.violation, at: now) }
        guard keepAlive.isLost(at: now, alarm: alarm, isHeldUp: isHeldUp) else { return wait(from: now) }
        // The server is probably out of reach: a closing handshake would only take time.
        let closing = WebSocketClosing(code: .internalError, reason: "no pong")
        return [.sendClose(closing)] + end(.noPong(after: keepAlive.limit ?? .zero))
    }

    /// Returns the ping that is due, and the alarm for the next step of an open connection.
    private mutating func wait(from now: EngineInstant) -> [Effect] {
        let (ping, wake) = keepAlive.advance(to: now)
        var effects: [Effect] = ping.map { [.sendPing($0, isKeepAlive: true)] } ?? []
        guard let next = [wake, deadline, settling?.end].compactMap({ $0 }).min(), next != alarm else { return effects }
        alarm = next
        effects.append(.setAlarm(next))
        return effects
    }

    private mutating func complete(_ payload: Data, at now: EngineInstant) -> [Effect] {
        let answers = keepAlive.complete(payload, at: now)
        guard !answers.isEmpty else { return [] }
        return [.completePings(answers)] + (isOpen && keepAlive.mustMoveAlarm ? wait(from: now) : [])
    }

    // MARK: Ends

    private mutating func startClosing(_ closing: WebSocketClosing, at now: EngineInstant) -> [Effect] {
        let end = now.advanced(by: closeTimeout)
        alarm = end
        return [.setAlarm(end), .sendClose(closing)]
    }

    private mutating func fail(_ violation: WebSocketViolation, at now: EngineInstant) -> [Effect] {
        phase = .ending
        let closing = WebSocketClosing(code: violation.code, reason: violation.message)
        return startClosing(closing, at: now) + [.finish(.failed(violation))]
    }

    private mutating func end(_ ending: Ending) -> [Effect] { [.finish(ending)] + cut() }

    private mutating func cut() -> [Effect] {
        phase = .ended
        alarm = nil
        return [.cut]
    }
}
