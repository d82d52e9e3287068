/// The state machine of an exchange as a value: the events that are legal in each phase, and their effects.
///
/// The state holds no continuation, task or buffer, and decides nothing about time or networks; the ``ExchangeActor`` performs the effects.
/// The states that users see are those of ``RequestState``; the progress of an exchange is inside ``Phase/resumed(_:)`` and
/// ``Phase/suspended(_:)``. Besides its phase, an exchange has conditions, which ``handle(_:)-(Condition)`` changes.
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
        package let rawValue: UInt16
        /// Creates a set from its bits.
        package init(rawValue: UInt16) { self.rawValue = rawValue }

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
        /// The request that goes out expects a response of status 100.
        case expect
        /// The server has sent status 100, or the wait for it has lasted too long.
        case permitBody
        /// The server has sent its final head while the body waited.
        case declineBody
        /// The server's response has status 417.
        case dropExpectation
        /// The connection was dead, or the server refused the request without processing it, so the request is sent again.
        case restart
        /// The request is ready to be sent again.
        case start
        /// The reader is too slow: the stored bytes exceed the high-water mark.
        case hold
        /// The reader has taken the stored bytes.
        case release
        /// The server has switched protocols, so that its head is followed by a connection in place of a body.
        case switchProtocols
    }

    /// The present phase.
    package private(set) var phase = Phase.initialized
    /// The state of the expectation of status 100.
    package private(set) var expectation = Expectation.none
    /// Whether the request was sent again on another connection, which happens at most once.
    package private(set) var hasRestarted = false
    /// Whether the request is sent again as soon as the exchange is resumed.
    package private(set) var mustRestart = false
    /// Whether the transfer is paused because the reader of the body is too slow.
    package private(set) var isHeldByReader = false
    /// Whether the server has switched protocols. The exchange then ends with its connection, which no limit of time ends.
    package private(set) var hasSwitchedProtocols = false

    /// Creates the state of an exchange that has not started.
    package init() {}

    /// Handles a change of a condition, and returns its effects. After the end of the exchange there are none.
    package mutating func handle(_ condition: Condition) -> Effects {
        guard !isEnded else { return [] }
        switch (condition, expectation) {
        case (.expect, .dropped): return []
        case (.expect, _): expectation = .awaited
        case (.permitBody, .awaited):
            expectation = .over
            return .startBody
        case (.declineBody, .awaited):
            expectation = .over
            return .stopBody
        case (.permitBody, _), (.declineBody, _): return []
        case (.dropExpectation, _): expectation = .dropped
        case (.restart, _): hasRestarted = true
        case (.start, _):
            mustRestart = isSuspended
            return isSuspended ? [] : .restartTransport
        case (.hold, _): isHeldByReader = true
        case (.release, _): isHeldByReader = false
        case (.switchProtocols, _): hasSwitchedProtocols = true
        }
        return []
    }

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
        case (.admit, .queued): advance(to: .connecting, isSuspended, .startTransport)
        // The exchange got a slot, left the queue, and requested a slot again before it was notified of the first one. One of the two slots
        // must be released.
        case (.admit, _): .releaseSlot
        case (.connect, .connecting): advance(to: .sending, isSuspended, [])
        case (.head, .connecting), (.head, .sending): advance(to: .receiving, isSuspended, .reportHead)
        case (.complete, .receiving): move(to: .finished, [.releaseSlot, .reportEnd])
        case (.discardRest, .receiving): move(to: .finished, end(progress))
        case (.connect, _), (.head, _), (.complete, _), (.discardRest, _): []
        }
    }

    private mutating func resume(at progress: Progress) -> Effects {
        defer { mustRestart = false }
        return move(to: .resumed(progress), mustRestart ? [.resumeTransport, .restartTransport] : .resumeTransport)
    }

    private func end(_ progress: Progress) -> Effects {
        switch progress {
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
