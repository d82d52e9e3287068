/// The life of a request as a value: what is legal when, and what follows from it.
///
/// It holds no continuation, task or buffer, and decides nothing about time or networks; the ``ExchangeActor`` performs
/// the effects. The public states are Alamofire's; the parts of an attempt are inside ``Phase/resumed(_:)`` and
/// ``Phase/suspended(_:)``.
package struct ExchangeState: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// Made, not started. Can become anything.
        case initialized
        /// Under way. Can become suspended, cancelled or finished.
        case resumed(Progress)
        /// Held up. Can become resumed, cancelled or finished.
        case suspended(Progress)
        /// Ended on purpose. Final.
        case cancelled
        /// Ended with an answer or an error. Final.
        case finished
    }

    /// How far the attempt is.
    package enum Progress: Hashable, Sendable, CaseIterable {
        /// It has no place in the queue.
        case parked
        /// It waits for a connection slot.
        case queued
        /// It has a slot; a connection is being made or found.
        case connecting
        /// The request is being sent, or its answer awaited.
        case sending
        /// The head has come.
        case receiving
    }

    package enum Event: Hashable, Sendable, CaseIterable {
        /// The user lets it run.
        case resume
        /// The user holds it up.
        case suspend
        /// The user, the task or the session ends it.
        case cancel
        /// The session gives it a slot.
        case admit
        /// The connection is ready.
        case connect
        /// The final head has come.
        case head
        /// The response is whole.
        case complete
        /// Enough of the response has come: nobody wants the rest.
        case suffice
        /// Anything has failed, a time limit included.
        case fail
    }

    /// What follows from an event, performed in this order.
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
        /// Lets the traffic go on.
        package static let resumeTransport = Effects(rawValue: 1 << 6)
        /// Tells whoever waits for the head.
        package static let reportHead = Effects(rawValue: 1 << 7)
        /// Tells whoever waits for the end.
        package static let reportEnd = Effects(rawValue: 1 << 8)
    }

    package private(set) var phase = Phase.initialized

    package init() {}

    /// Takes in what happened and says what to do. What is not legal in the present phase changes nothing.
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
        case .connect, .head, .complete, .suffice: []
        }
    }

    private mutating func handle(_ event: Event, _ progress: Progress, isSuspended: Bool) -> Effects {
        switch (event, progress) {
        case (.resume, .parked): move(to: .resumed(.queued), .enterQueue)
        case (.resume, _): isSuspended ? move(to: .resumed(progress), .resumeTransport) : []
        case (.suspend, .queued): isSuspended ? [] : move(to: .suspended(.parked), .leaveQueue)
        case (.suspend, _): isSuspended ? [] : move(to: .suspended(progress), .pauseTransport)
        case (.cancel, _): move(to: .cancelled, end(progress))
        case (.fail, _): move(to: .finished, end(progress))
        case (.admit, .queued): advance(to: .connecting, isSuspended, .startTransport)
        // It was given a slot, left the queue and came back before it heard of it: one of the two is too many.
        case (.admit, _): .releaseSlot
        case (.connect, .connecting): advance(to: .sending, isSuspended, [])
        case (.head, .connecting), (.head, .sending): advance(to: .receiving, isSuspended, .reportHead)
        case (.complete, .receiving): move(to: .finished, [.releaseSlot, .reportEnd])
        case (.suffice, .receiving): move(to: .finished, end(progress))
        case (.connect, _), (.head, _), (.complete, _), (.suffice, _): []
        }
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

    /// How far the attempt is, while there is one.
    package var progress: Progress? {
        switch phase {
        case .resumed(let progress), .suspended(let progress): progress
        case .initialized, .cancelled, .finished: nil
        }
    }

    /// Whether it has ended.
    package var isEnded: Bool { phase == .cancelled || phase == .finished }

    /// Whether it is held up.
    package var isSuspended: Bool { if case .suspended = phase { true } else { false } }
}
