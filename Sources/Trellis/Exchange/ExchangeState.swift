/// The state machine of an exchange as a value: the legal events of each phase, and their effects.
///
/// The state holds no continuation, task or buffer, and decides nothing about time or networks; the ``ExchangeActor`` performs the
/// effects. The states that users see are those of ``RequestState``; the progress of an exchange is inside ``Phase/resumed(_:)``
/// and ``Phase/suspended(_:)``. Beside its phase an exchange has conditions, which ``handle(_:)-(Condition)`` changes.
package struct ExchangeState: Hashable, Sendable {
    /// The phase of an exchange, with its progress while it is under way.
    package enum Phase: Hashable, Sendable {
        /// The exchange was made and has not started. Can become any other phase.
        case initialized
        /// The exchange is under way. Can become suspended, cancelled or finished.
        case resumed(Progress)
        /// The exchange is suspended. Can become resumed, cancelled or finished.
        case suspended(Progress)
        /// The exchange was cancelled. Final.
        case cancelled
        /// The exchange ended with a response or an error. Final.
        case finished
    }

    /// The progress of an attempt.
    package enum Progress: Hashable, Sendable, CaseIterable {
        /// The attempt has no place in the queue.
        case parked
        /// The attempt waits for a connection slot.
        case queued
        /// The attempt has a slot; a connection is being made or found.
        case connecting
        /// The request is being sent, or its response awaited.
        case sending
        /// The head of the response has come.
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
        /// The final head has come.
        case head
        /// The response is whole.
        case complete
        /// The rest of the response is not wanted.
        case discardRest
        /// The attempt has failed, or a time limit is over.
        case fail
    }

    /// The effects of an event, performed by the ``ExchangeActor``.
    package struct Effects: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// Ends the transport's work.
        package static let stopTransport = Effects(rawValue: 1 << 0)
        /// Gives up the place in the queue.
        package static let leaveQueue = Effects(rawValue: 1 << 1)
        /// Gives the slot back.
        package static let releaseSlot = Effects(rawValue: 1 << 2)
        /// Asks for a slot.
        package static let enterQueue = Effects(rawValue: 1 << 3)
        /// Hands the request to the transport.
        package static let startTransport = Effects(rawValue: 1 << 4)
        /// Stops the traffic.
        package static let pauseTransport = Effects(rawValue: 1 << 5)
        /// Resumes the traffic.
        package static let resumeTransport = Effects(rawValue: 1 << 6)
        /// Resumes the waiter for the head.
        package static let reportHead = Effects(rawValue: 1 << 7)
        /// Resumes the waiter for the end.
        package static let reportEnd = Effects(rawValue: 1 << 8)
        /// Hands the request to the transport once more.
        package static let restartTransport = Effects(rawValue: 1 << 9)
        /// Begins to send the body, which has waited for the server.
        package static let startBody = Effects(rawValue: 1 << 10)
        /// Sends nothing of the body, which the server does not want.
        package static let stopBody = Effects(rawValue: 1 << 11)
    }

    /// The state of `Expect: 100-continue` (RFC 9110, section 10.1.1).
    package enum Expectation: Hashable, Sendable {
        /// The request expects nothing.
        case none
        /// The body waits for a response of status 100.
        case awaited
        /// The body's wait is over.
        case over
        /// The server does not meet the expectation: the request goes out without it.
        case dropped
    }

    /// An event that changes a condition of the exchange and leaves its phase.
    package enum Condition: Hashable, Sendable, CaseIterable {
        /// The request that goes out expects a response of status 100.
        case expect
        /// The server has sent status 100, or nothing for too long.
        case permitBody
        /// The server has sent its final head while the body waited.
        case declineBody
        /// The server has answered with status 417.
        case dropExpectation
        /// The connection was dead, or the request was refused unprocessed: it goes out once more.
        case restart
        /// The request is ready to go out once more.
        case start
        /// The reader is too slow: the bytes that wait for it are above the high-water mark.
        case hold
        /// The reader has taken the bytes that waited.
        case release
    }

    package private(set) var phase = Phase.initialized
    package private(set) var expectation = Expectation.none
    /// A Boolean value: the request has gone out once more on another connection, which happens once.
    package private(set) var hasRestarted = false
    /// A Boolean value: the request goes out once more as soon as the exchange is resumed.
    package private(set) var mustRestart = false
    /// A Boolean value: the reader of the body holds the transfer up.
    package private(set) var isHeldByReader = false

    package init() {}

    /// Takes in a change of a condition, and returns its effects. An exchange that has ended has none.
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
        }
        return []
    }

    /// Takes in an event, and returns its effects. An event that is not legal in the present phase changes nothing.
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
        // The exchange was given a slot, left the queue, and asked again before it was told of the slot: one of the two slots is
        // too many.
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

    /// The progress of the attempt; `nil`: no attempt is under way.
    package var progress: Progress? {
        switch phase {
        case .resumed(let progress), .suspended(let progress): progress
        case .initialized, .cancelled, .finished: nil
        }
    }

    /// A Boolean value: the exchange has ended.
    package var isEnded: Bool { phase == .cancelled || phase == .finished }

    /// A Boolean value: the exchange is suspended.
    package var isSuspended: Bool { if case .suspended = phase { true } else { false } }
}
