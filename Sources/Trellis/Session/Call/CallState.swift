/// The life of a call as a value: its visible phases, and what follows from what happens to it.
///
/// What an attempt of it does meanwhile is ``RequestState``'s.
package struct CallState: Hashable, Sendable {
    package enum Event: Hashable, Sendable, CaseIterable {
        /// Its answer is asked for: it starts, unless it is held up.
        case begin
        /// The user lets it run.
        case resume
        /// The user holds it up.
        case suspend
        /// The user, the task or the session ends it.
        case cancel
        /// Its answer is there, or what failed.
        case finish
    }

    /// What follows from an event.
    package enum Effect: Hashable, Sendable {
        case nothing, pauseAttempt, resumeAttempt, end
    }

    package private(set) var phase = RequestPhase.initialized

    package init() {}

    package mutating func handle(_ event: Event) -> Effect {
        switch (phase, event) {
        case (.cancelled, _), (.finished, _): return .nothing
        case (_, .cancel):
            phase = .cancelled
            return .end
        case (_, .finish):
            phase = .finished
            return .end
        case (.initialized, .begin), (.initialized, .resume), (.suspended, .resume):
            phase = .resumed
            return .resumeAttempt
        case (.initialized, .suspend), (.resumed, .suspend):
            phase = .suspended
            return .pauseAttempt
        case (_, .begin), (.resumed, .resume), (.suspended, .suspend): return .nothing
        }
    }

    /// Whether it has ended.
    package var isEnded: Bool { phase == .cancelled || phase == .finished }
}
