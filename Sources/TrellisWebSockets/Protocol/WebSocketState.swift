import TrellisCore

/// The state of an open connection, and its reactions (RFC 6455, sections 5.5 and 7). A pure state machine: its owner performs the effects.
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
        /// The user closes the connection.
        case close(WebSocketClosing)
        case receivedPing, receivedPong
        case receivedClose(WebSocketClosing)
        /// The server has broken a rule or a limit.
        case violation(WebSocketViolation)
        /// The server did not answer a ping in time.
        case pongIsMissing
        /// The time of the whole conversation is over.
        case deadlineReached
        /// The server's bytes have ended.
        case peerEnded
        /// The transport has failed.
        case transportFailed
        /// Closing has taken too long.
        case closeTimedOut
    }

    /// Something to do, in the order of the list.
    enum Effect: Hashable, Sendable {
        /// Sends a Pong frame with the payload in hand.
        case answerPing
        /// Completes the pings that the payload in hand answers.
        case completePings
        /// Sends a Close frame, after which nothing is sent but answers to pings.
        case sendClose(WebSocketClosing)
        /// Begins the time that closing may take. The Close frame is sent afterwards, so that a peer that has it finds the time running.
        case startCloseTimer
        /// Ends the messages, and every call that waits.
        case finish(Ending)
        /// Closes the connection at once.
        case cut
    }

    /// The way in which the messages end.
    enum Ending: Hashable, Sendable {
        /// The server closed the connection.
        case closedByPeer(WebSocketClosing)
        /// This side closed the connection. The value is the server's Close frame.
        case closed(WebSocketClosing)
        /// This side closed the connection, and the server sent no Close frame.
        case closedWithoutReply
        case failed(WebSocketViolation)
        case noPong
        /// The time of the whole conversation is over.
        case timedOut
        /// The server's bytes ended without a Close frame.
        case lost
        case transportFailed
    }

    private(set) var phase = Phase.open

    /// Whether messages can be sent.
    var isOpen: Bool { phase == .open }

    /// Whether messages of the server are delivered and its pings answered: until the Close frame of the server, also while this
    /// side closes (RFC 6455, sections 1.4 and 5.5.2).
    var takesFrames: Bool { phase == .open || phase == .closing }

    /// Returns the effects of an event.
    mutating func handle(_ event: Event) -> [Effect] {
        switch (phase, event) {
        case (.open, .receivedPing), (.closing, .receivedPing): return [.answerPing]
        case (.open, .receivedPong), (.closing, .receivedPong): return [.completePings]
        case (.open, .close(let closing)):
            phase = .closing
            return [.startCloseTimer, .sendClose(closing)]
        case (.open, .receivedClose(let closing)):
            phase = .ending
            return [.startCloseTimer, .sendClose(closing.reply), .finish(.closedByPeer(closing))]
        case (.open, .violation(let violation)):
            phase = .ending
            let closing = WebSocketClosing(code: violation.code, reason: violation.message)
            return [.startCloseTimer, .sendClose(closing), .finish(.failed(violation))]
        case (.open, .pongIsMissing):
            // The server is probably out of reach: a closing handshake would only take time.
            phase = .ended
            let closing = WebSocketClosing(code: .internalError, reason: "no pong")
            return [.sendClose(closing), .finish(.noPong), .cut]
        case (.open, .deadlineReached):
            // The calls end at once. The server is told, and has the time that closing may take.
            phase = .ending
            return [.startCloseTimer, .sendClose(WebSocketClosing(code: .goingAway)), .finish(.timedOut)]
        case (.open, .peerEnded): return end(.lost)
        case (.open, .transportFailed): return end(.transportFailed)

        case (.closing, .receivedClose(let closing)):
            phase = .ending
            return [.finish(.closed(closing))]
        case (.closing, .peerEnded), (.closing, .transportFailed), (.closing, .closeTimedOut):
            return end(.closedWithoutReply)
        // The message that breaks a rule, and all behind it, are missing. The Close frame has been sent.
        case (.closing, .violation(let violation)): return end(.failed(violation))

        case (.ending, .peerEnded), (.ending, .transportFailed), (.ending, .closeTimedOut):
            phase = .ended
            return [.cut]

        case (.open, .closeTimedOut), (.closing, _), (.ending, _), (.ended, _): return []
        }
    }

    private mutating func end(_ ending: Ending) -> [Effect] {
        phase = .ended
        return [.finish(ending), .cut]
    }
}
