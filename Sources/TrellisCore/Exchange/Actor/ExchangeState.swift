/// The state machine of an exchange as a value: the events that are legal in each phase, and their effects.
///
/// The state holds no continuation, task or buffer, and decides nothing about time or networks; the ``ExchangeActor`` performs the effects.
/// ``RequestState`` has the states that users see; the progress of an exchange is inside ``Phase/resumed(_:)`` and
/// ``Phase/suspended(_:)``. Besides its phase, an exchange has conditions, which ``handle(_:)-(Condition)`` changes, and facts, which have
/// no effects: ``note(_:)`` and ``forget(_:)`` change them. Every flag of an exchange is one of these.
package struct ExchangeState: Hashable, Sendable {
    /// The phase of an exchange, with its progress while it is in flight.
    package enum Phase: Hashable, Sendable {
        /// The exchange was created and has not started. Can become any other phase.
        case initialized
        /// The exchange is in flight. Can become suspended, cancelled or finished.
        case resumed(Progress)
        /// The exchange is suspended. Can become resumed, cancelled or finished.
        case suspended(Progress)
        /// The exchange was cancelled. Final.
        case cancelled
        /// The exchange ended with a response or an error. Final.
        case finished
    }

    /// The progress of an attempt.
    package enum Progress: Hashable, Comparable, Sendable, CaseIterable {
        /// The attempt has no place in the queue.
        case parked
        /// The attempt waits for a connection slot.
        case queued
        /// The attempt has a slot; a connection is being established or found.
        case connecting
        /// The request is being sent, or its response is awaited.
        case sending
        /// The head of the response was received.
        case receiving
    }

    /// The attempts of an exchange that the transport can report on.
    package enum Attempt: Hashable, Sendable {
        /// The first attempt, and its restarts after a lost connection.
        case first
        /// The attempt without the expectation, after the first one was dropped.
        case later
    }

    /// An event that may change the phase.
    package enum Event: Hashable, Sendable, CaseIterable {
        /// The user starts or resumes the exchange.
        case resume
        /// The user suspends the exchange.
        case suspend
        /// The user, the task or the session cancels the exchange.
        case cancel
        /// The session gives the exchange a slot.
        case admit
        /// The connection is ready.
        case connect
        /// The final head was received.
        case head
        /// The response is complete.
        case complete
        /// The rest of the response is not needed.
        case discardRest
        /// The attempt has failed, or a time limit is reached.
        case fail
    }

    /// The effects of an event, performed by the ``ExchangeActor``.
    package struct Effects: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        package let rawValue: UInt32
        /// Creates a set from its bits.
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Stops the transport's work.
        package static let stopTransport = Effects(rawValue: 1 << 0)
        /// Leaves the queue.
        package static let leaveQueue = Effects(rawValue: 1 << 1)
        /// Releases the slot.
        package static let releaseSlot = Effects(rawValue: 1 << 2)
        /// Requests a slot.
        package static let enterQueue = Effects(rawValue: 1 << 3)
        /// Passes the request to the transport.
        package static let startTransport = Effects(rawValue: 1 << 4)
        /// Pauses the transfer.
        package static let pauseTransport = Effects(rawValue: 1 << 5)
        /// Resumes the transfer.
        package static let resumeTransport = Effects(rawValue: 1 << 6)
        /// Resumes the waiter for the head.
        package static let reportHead = Effects(rawValue: 1 << 7)
        /// Resumes the waiter for the end.
        package static let reportEnd = Effects(rawValue: 1 << 8)
        /// Passes the request to the transport again.
        package static let restartTransport = Effects(rawValue: 1 << 9)
        /// Begins to send the body, which has waited for the server's permission.
        package static let startBody = Effects(rawValue: 1 << 10)
        /// Drops the body, which the server does not need.
        package static let stopBody = Effects(rawValue: 1 << 11)
        /// Pauses receiving.
        package static let pauseReceiving = Effects(rawValue: 1 << 13)
        /// Continues receiving.
        package static let continueReceiving = Effects(rawValue: 1 << 14)
        /// Forgets the attempt, whose request is sent again, with its body and its response so far.
        package static let dropAttempt = Effects(rawValue: 1 << 15)
        /// Cancels the attempt that is dropped.
        package static let cancelAttempt = Effects(rawValue: 1 << 16)
    }

    /// The state of `Expect: 100-continue` (RFC 9110, section 10.1.1).
    package enum Expectation: Hashable, Sendable {
        /// The request expects nothing.
        case none
        /// The body waits for a response of status 100.
        case awaited
        /// The wait of the body is over.
        case over
        /// The server does not meet the expectation, so the request is sent without it.
        case dropped
    }

    /// An event that changes a condition of the exchange and leaves its phase.
    package enum Condition: Hashable, Sendable, CaseIterable {
        /// The server has sent status 100, or the wait for it has lasted too long.
        case permitBody
        /// The server has sent its final head while the body waited.
        case declineBody
        /// The response shows that the server does not need the rest of the body.
        case dropBody
        /// The server's response has status 417.
        case dropExpectation
        /// The connection was dead, or the server refused the request without processing it, so the request is sent again.
        case restart
        /// The request is ready to be sent again without its expectation.
        case start
        /// The reader is too slow: the stored bytes exceed the high-water mark.
        case hold
        /// The reader has taken the stored bytes.
        case release
        /// A bandwidth limit grants no more bytes of the response.
        case limit
        /// The bandwidth limits grant bytes of the response.
        case grant
        /// The server has switched protocols: a connection follows its head, and no body.
        case switchProtocols
    }

    /// The facts about an exchange that have no effects.
    package struct Facts: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        package let rawValue: UInt32
        /// Creates a set from its bits.
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        // The request.

        /// The body comes from a source while it is sent.
        package static let hasSource = Facts(rawValue: 1 << 0)
        /// The body waits for the server's permission.
        package static let expectsContinue = Facts(rawValue: 1 << 1)

        // The queue.

        /// The registry counts the exchange.
        package static let isRegistered = Facts(rawValue: 1 << 4)
        /// The exchange has waited for its slot.
        package static let hasWaited = Facts(rawValue: 1 << 5)
        /// Other requests wait until the connection of this one shows whether it can be shared.
        package static let isProbing = Facts(rawValue: 1 << 6)

        // The request's body.

        /// The body is complete, or the rest of it is not sent.
        package static let isBodySent = Facts(rawValue: 1 << 7)
        /// The source of the body waits until a bandwidth limit grants bytes.
        package static let isRoomPending = Facts(rawValue: 1 << 8)
        /// The observers expect to be told that the request is sent.
        package static let isSendingReported = Facts(rawValue: 1 << 9)
        /// The observers were told that the request was sent on this connection.
        package static let wasSentReported = Facts(rawValue: 1 << 10)

        // The response.

        /// The readers have validated the head.
        package static let isHeadJudged = Facts(rawValue: 1 << 11)
        /// The meter of the response's body ends with the exchange.
        package static let endsMeter = Facts(rawValue: 1 << 12)

        // Conditions, which only the machine changes.

        fileprivate static let hasRestarted = Facts(rawValue: 1 << 16)
        fileprivate static let mustRestart = Facts(rawValue: 1 << 17)
        fileprivate static let isHeldByReader = Facts(rawValue: 1 << 18)
        fileprivate static let isHeldByLimit = Facts(rawValue: 1 << 19)
        fileprivate static let isReceivingPaused = Facts(rawValue: 1 << 20)
        fileprivate static let hasSwitchedProtocols = Facts(rawValue: 1 << 21)
    }

    /// The present phase.
    package private(set) var phase = Phase.initialized
    /// The state of the expectation of status 100.
    package private(set) var expectation = Expectation.none
    /// The progress at the end of the exchange; `nil` if it has not started.
    package private(set) var lastProgress: Progress?
    private var facts: Facts

    /// Creates the state of an exchange that has not started.
    ///
    /// - Parameter request: The facts about its request.
    package init(_ request: Facts = []) {
        facts = request.contains(.hasSource) ? request : request.union(.isBodySent)
    }

    // MARK: Facts

    /// Returns whether a fact is true.
    package func has(_ fact: Facts) -> Bool { facts.contains(fact) }

    /// Records a fact.
    package mutating func note(_ fact: Facts) { facts.insert(fact) }

    /// Records that a fact is no longer true.
    package mutating func forget(_ fact: Facts) { facts.remove(fact) }

    /// Whether the request was sent again on another connection, which happens at most once.
    package var hasRestarted: Bool { has(.hasRestarted) }
    /// Whether the request is sent again as soon as the exchange is resumed.
    package var mustRestart: Bool { has(.mustRestart) }
    /// Whether the reader of the body is too slow, so that the transfer is paused.
    package var isHeldByReader: Bool { has(.isHeldByReader) }
    /// Whether the server has switched protocols. The exchange then ends with its connection, which no time limit ends.
    package var hasSwitchedProtocols: Bool { has(.hasSwitchedProtocols) }
    /// Whether the body is complete, or the rest of it is not sent.
    package var isBodySent: Bool { has(.isBodySent) }
    /// Whether the observers expect to be told that the request was sent, and were not told yet.
    package var mustReportSent: Bool { has(.isSendingReported) && !has(.wasSentReported) }

    // MARK: Conditions

    /// Handles a change of a condition, and returns its effects. After the end of the exchange there are none.
    package mutating func handle(_ condition: Condition) -> Effects {
        guard !isEnded else { return [] }
        switch condition {
        case .permitBody:
            guard expectation == .awaited else { return [] }
            expectation = .over
            return .startBody
        case .declineBody:
            guard expectation == .awaited else { return [] }
            expectation = .over
            return dropBody()
        case .dropBody: return dropBody()
        case .dropExpectation:
            expectation = .dropped
            return [.cancelAttempt, dropAttempt()]
        case .restart:
            facts.insert(.hasRestarted)
            return [dropAttempt(), startAgain()]
        case .start: return startAgain()
        case .hold: return setPause(.isHeldByReader, true)
        case .release: return setPause(.isHeldByReader, false)
        case .limit: return setPause(.isHeldByLimit, true)
        case .grant: return setPause(.isHeldByLimit, false)
        case .switchProtocols:
            facts.insert(.hasSwitchedProtocols)
            return []
        }
    }

    private mutating func dropBody() -> Effects {
        // The rest of the body is never reported as sent.
        if !isBodySent { facts.remove([.isSendingReported, .wasSentReported]) }
        facts.insert(.isBodySent)
        return .stopBody
    }

    /// The body of the next attempt may be passed on before its connection is ready.
    private mutating func dropAttempt() -> Effects {
        facts.remove([.isSendingReported, .wasSentReported, .isReceivingPaused])
        return .dropAttempt
    }

    /// Sends the request again. A suspended exchange sends nothing, not even a request that was sent before.
    private mutating func startAgain() -> Effects {
        guard !isSuspended else {
            facts.insert(.mustRestart)
            return []
        }
        facts.remove(.mustRestart)
        beginAttempt()
        return .restartTransport
    }

    private mutating func setPause(_ reason: Facts, _ isHeld: Bool) -> Effects {
        if isHeld { facts.insert(reason) } else { facts.remove(reason) }
        let mustPause = has(.isHeldByReader) || has(.isHeldByLimit)
        guard mustPause != has(.isReceivingPaused) else { return [] }
        if mustPause { facts.insert(.isReceivingPaused) } else { facts.remove(.isReceivingPaused) }
        return mustPause ? .pauseReceiving : .continueReceiving
    }

    private mutating func beginAttempt() {
        if has(.hasSource) { facts.remove(.isBodySent) } else { facts.insert(.isBodySent) }
        if has(.expectsContinue), expectation != .dropped { expectation = .awaited }
    }

    // MARK: Events

    /// Handles an event, and returns its effects. An event that is not legal in the present phase changes nothing.
    package mutating func handle(_ event: Event) -> Effects {
        switch phase {
        case .initialized: handleInitialized(event)
        case .resumed(let progress): handle(event, progress, isSuspended: false)
        case .suspended(let progress): handle(event, progress, isSuspended: true)
        case .cancelled, .finished: event == .admit ? .releaseSlot : []
        }
    }

    private mutating func handleInitialized(_ event: Event) -> Effects {
        switch event {
        case .resume: move(to: .resumed(.queued), .enterQueue)
        case .suspend: move(to: .suspended(.parked), [])
        case .cancel: move(to: .cancelled, .reportEnd)
        case .fail: move(to: .finished, .reportEnd)
        case .admit: .releaseSlot
        case .connect, .head, .complete, .discardRest: []
        }
    }

    private mutating func handle(_ event: Event, _ progress: Progress, isSuspended: Bool) -> Effects {
        switch (event, progress) {
        case (.resume, .parked): move(to: .resumed(.queued), .enterQueue)
        case (.resume, _): isSuspended ? resume(at: progress) : []
        case (.suspend, .queued): isSuspended ? [] : move(to: .suspended(.parked), .leaveQueue)
        case (.suspend, _): isSuspended ? [] : move(to: .suspended(progress), .pauseTransport)
        case (.cancel, _): move(to: .cancelled, end(progress))
        case (.fail, _): move(to: .finished, end(progress))
        case (.admit, .queued): start(isSuspended)
        // The exchange got a slot, left the queue, and requested a slot again before it was notified of the first one. One of the two slots
        // must be released.
        case (.admit, _): .releaseSlot
        case (.connect, .connecting): advance(to: .sending, isSuspended, [])
        case (.head, .connecting), (.head, .sending): advance(to: .receiving, isSuspended, .reportHead)
        case (.complete, .receiving): complete()
        case (.discardRest, .receiving): move(to: .finished, end(progress))
        case (.connect, _), (.head, _), (.complete, _), (.discardRest, _): []
        }
    }

    private mutating func start(_ isSuspended: Bool) -> Effects {
        beginAttempt()
        return advance(to: .connecting, isSuspended, .startTransport)
    }

    private mutating func resume(at progress: Progress) -> Effects {
        let effects = move(to: .resumed(progress), .resumeTransport)
        return mustRestart ? effects.union(startAgain()) : effects
    }

    private mutating func complete() -> Effects {
        lastProgress = .receiving
        return move(to: .finished, [.releaseSlot, .reportEnd])
    }

    private mutating func end(_ progress: Progress) -> Effects {
        lastProgress = progress
        return switch progress {
        case .parked: .reportEnd
        case .queued: [.leaveQueue, .reportEnd]
        case .connecting, .sending, .receiving: [.stopTransport, .releaseSlot, .reportEnd]
        }
    }

    private mutating func advance(to progress: Progress, _ isSuspended: Bool, _ effects: Effects) -> Effects {
        move(to: isSuspended ? .suspended(progress) : .resumed(progress), effects)
    }

    private mutating func move(to phase: Phase, _ effects: Effects) -> Effects {
        self.phase = phase
        return effects
    }

    /// The progress of the attempt; `nil` if no attempt is in progress.
    package var progress: Progress? {
        switch phase {
        case .resumed(let progress), .suspended(let progress): progress
        case .initialized, .cancelled, .finished: nil
        }
    }

    /// Whether the exchange has ended.
    package var isEnded: Bool {
        switch phase {
        case .cancelled, .finished: true
        case .initialized, .resumed, .suspended: false
        }
    }

    /// Whether the exchange is suspended.
    package var isSuspended: Bool { if case .suspended = phase { true } else { false } }
}
